"""Prints `packages.txt` in the format of a registry client: `wheels` for pip, `tarballs` for npm."""

import pathlib
import re
import sys

KINDS = {"wheels": "==", "tarballs": "@"}


def main():
    kind = sys.argv[1]
    section = None
    for line in (pathlib.Path(__file__).parent / "packages.txt").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line and not line.startswith("#") and section == kind:
            name, version = re.fullmatch(r"\w+ (.*?)-(\d.*)", line).groups()
            print(name + KINDS[kind] + version)


if __name__ == "__main__":
    main()
