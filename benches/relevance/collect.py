#!/usr/bin/env python3
"""Collects the texts again to which a file of pointers leads.

  benches/relevance/collect.py POINTERS CLONES > TEXTS

A pointer leads to a line of a file in a public repository (`source`, `commit`, `path`, `line`; of a line of JSON, to some
`members`), or to the subject of a commit (`repo`, `commit`), or to its message (`part`). The clones are CLONES/OWNER+NAME/repo. A text is found where so
many characters of the place have the hash of the pointer. Its line has the members of its pointer and the text. Those that
are not found are counted on stderr.
"""
import functools
import hashlib
import json
import subprocess
import sys


def main():
    missing = 0
    with open(sys.argv[1]) as lines:
        for pointer in map(json.loads, lines):
            found = text_in(place(sys.argv[2], pointer), pointer)
            if found is None:
                missing += 1
            else:
                print(json.dumps(pointer | {"text": found}, ensure_ascii=False, sort_keys=True))
    print(f"{missing} texts were not found", file=sys.stderr)


def place(clones, pointer):
    """The line, the subject or the message that a pointer leads to; empty where the clone lacks it."""
    clone = f"{clones}/{(pointer.get('source') or pointer['repo']).replace('/', '+')}/repo"
    if "part" in pointer:
        return "\n".join(git(clone, "show", "-s", "--format=%B", pointer["commit"]))
    if "path" not in pointer:
        return git(clone, "show", "-s", "--format=%s", pointer["commit"])[0]
    line = git(clone, "show", f"{pointer['commit']}:{pointer['path']}")[pointer["line"] - 1 :][:1]
    if not line or "members" not in pointer:
        return "".join(line)
    values = (functools.reduce(member, name.split("."), json.loads(line[0])) for name in pointer["members"].split(", "))
    return "\n\n".join(filter(None, (value.strip() for value in values)))


def member(value, name):
    return value[int(name)] if isinstance(value, list) else value[name]


@functools.cache
def git(clone, *command):
    done = subprocess.run(["git", "-C", clone, *command], capture_output=True, encoding="utf-8")
    return done.stdout.split("\n") if done.returncode == 0 else [""]


def text_in(place, pointer):
    length = pointer["chars"]
    for start in range(len(place) - length + 1):
        part = place[start : start + length]
        if hashlib.sha256(part.encode()).hexdigest() == pointer["sha256"]:
            return part
    return None


if __name__ == "__main__":
    main()
