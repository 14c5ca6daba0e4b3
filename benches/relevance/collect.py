#!/usr/bin/env python3
"""Collects the texts again to which a file of pointers leads.

  benches/relevance/collect.py POINTERS PAGES... > TEXTS

Each of PAGES is a file of JSON lines `{"url": ..., "text": ...}`: public pages, or what a search returned of them, with
title and body. A text is found where so many characters of a page have its hash. Its line has the members of its pointer
and the text. Those that no page contains are counted on stderr.
"""
import hashlib
import json
import sys


def main():
    pages = {}
    for path in sys.argv[2:]:
        with open(path) as lines:
            for page in map(json.loads, lines):
                pages.setdefault(page["url"], []).append(page["text"])
    missing = 0
    with open(sys.argv[1]) as lines:
        for pointer in map(json.loads, lines):
            found = next(filter(None, (text_in(page, pointer) for page in pages.get(pointer["url"], []))), None)
            if found is None:
                missing += 1
            else:
                print(json.dumps(pointer | {"text": found}, ensure_ascii=False, sort_keys=True))
    print(f"{missing} texts were not found", file=sys.stderr)


def text_in(page, pointer):
    length = pointer["chars"]
    for start in range(len(page) - length + 1):
        part = page[start : start + length]
        if hashlib.sha256(part.encode()).hexdigest() == pointer["sha256"]:
            return part
    return None


if __name__ == "__main__":
    main()
