#!/usr/bin/env python3
"""Collects the texts again to which a file of pointers leads.

  benches/relevance/collect.py POINTERS [--clones DIR] [PAGES...] > TEXTS

A pointer leads to a part of a public page (`url`), to a line of a file in a public repository (`source`, `commit`, `path`,
`line`; of a line of JSON, to some `members`), or to the subject of a commit (`repo`, `commit`). Each of PAGES is a file of
JSON lines `{"url": ..., "text": ...}`; the clones are DIR/OWNER+NAME/repo. A text is found where so many characters have the
hash of the pointer. Its line has the members of its pointer and the text. Those that are not found are counted on stderr.
"""
import argparse
import functools
import hashlib
import json
import subprocess
import sys


def main():
    options = argparse.ArgumentParser()
    options.add_argument("pointers")
    options.add_argument("--clones", default=".")
    options.add_argument("pages", nargs="*")
    options = options.parse_args()
    pages = {}
    for path in options.pages:
        with open(path) as lines:
            for page in map(json.loads, lines):
                pages.setdefault(page["url"], []).append(page["text"])
    missing = 0
    with open(options.pointers) as lines:
        for pointer in map(json.loads, lines):
            places = pages.get(pointer["url"], []) if "url" in pointer else in_clone(options.clones, pointer)
            found = next(filter(None, (text_in(place, pointer) for place in places)), None)
            if found is None:
                missing += 1
            else:
                print(json.dumps(pointer | {"text": found}, ensure_ascii=False, sort_keys=True))
    print(f"{missing} texts were not found", file=sys.stderr)


def in_clone(clones, pointer):
    """The line or the subject that a pointer leads to; none where the clone lacks it."""
    clone = f"{clones}/{(pointer.get('source') or pointer['repo']).replace('/', '+')}/repo"
    if "path" not in pointer:
        return git(clone, "show", "-s", "--format=%s", pointer["commit"])[:1]
    lines = git(clone, "show", f"{pointer['commit']}:{pointer['path']}")
    line = "".join(lines[pointer["line"] - 1 : pointer["line"]])
    if not line or "members" not in pointer:
        return [line]
    values = (functools.reduce(member, name.split("."), json.loads(line)) for name in pointer["members"].split(", "))
    return ["\n\n".join(filter(None, (value.strip() for value in values)))]


def member(value, name):
    return value[int(name)] if isinstance(value, list) else value[name]


@functools.cache
def git(clone, *command):
    done = subprocess.run(["git", "-C", clone, *command], capture_output=True, encoding="utf-8")
    return done.stdout.split("\n") if done.returncode == 0 else []


def text_in(place, pointer):
    length = pointer["chars"]
    for start in range(len(place) - length + 1):
        part = place[start : start + length]
        if hashlib.sha256(part.encode()).hexdigest() == pointer["sha256"]:
            return part
    return None


if __name__ == "__main__":
    main()
