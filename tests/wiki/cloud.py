#!/usr/bin/env python3
"""The cloud of a wiki's digest, computed a second time by the specification and compared term by term.

    tests/wiki/cloud.py MUNINN DIRECTORY...

Shares no code with Muninn but the lists of stop words and the table of words in other repositories, whose terms are stemmed
as by the package `snowballstemmer`. Prints a line for each directory, and `N passed, N failed`.
"""

import collections
import functools
import itertools
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

import snowballstemmer

MEMORY = pathlib.Path(__file__).resolve().parents[2] / "memory"
WORDS = MEMORY / "notebooks" / "src" / "wiki" / "stopwords"
# See the first lines of memory/text/src/background.rs.
TABLE = (MEMORY / "text" / "src" / "background.bin").read_bytes()
(TERMS,) = struct.unpack_from("<I", TABLE, 8)
SHARE_IN_PROSE = dict(zip(struct.unpack_from(f"<{TERMS}I", TABLE, 12), TABLE[12 + 6 * TERMS:12 + 7 * TERMS]))
# The share of other repositories' files of prose from which a word is common.
COMMON = 0.2
STEM = snowballstemmer.stemmer("english").stemWord
LANGUAGES = {name: set((WORDS / f"{name}.txt").read_text().split()) for name in ("english", "german", "french", "spanish")}
SIZE = 50
MOST_BYTES = 4 << 20
# Front matter: from a line of three dashes at the head to the next such line.
FRONT = re.compile(r"\ufeff?\s*---[ \t\r]*\n.*?\n(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)", re.DOTALL)
# Letters and digits; hyphens and underscores between them belong to the word.
WORD = re.compile(r"[^\W_](?:[\w-]*[^\W_])?")
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def bodies(root):
    """The text of each page below a directory."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
        for name in files:
            path = pathlib.Path(folder, name)
            parts = path.relative_to(root).with_suffix("").parts
            plain = all(not part.startswith(".") and not RESERVED.fullmatch(part) for part in parts)
            if path.suffix != ".md" or path.is_symlink() or not plain or path.stat().st_size > MOST_BYTES:
                continue
            text = path.read_bytes().decode("utf-8", "replace")
            front = FRONT.match(text)
            yield text[front.end():] if front else text


def words(text):
    return WORD.findall(text.lower())


def is_short(word):
    return len(word) < 2 or (word.isascii() and word.isdigit())


def fnv(term):
    value = 0x811C9DC5
    for byte in term.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


@functools.cache
def is_common(word):
    term = word.replace("_", "")
    code = SHARE_IN_PROSE.get(fnv(STEM(term) if re.fullmatch("[a-z]{4,}", term) else term), 0)
    return bool(code) and 2 ** ((code - 255) / 16) >= COMMON


def cloud(root):
    """The most frequent words and pairs of words that are not common elsewhere, those first in the alphabet among equals."""
    texts = [words(text) for text in bodies(root)]
    everything = collections.Counter(itertools.chain.from_iterable(texts))
    english, total = LANGUAGES["english"], sum(everything.values())
    stop = set(english)
    for language in ("german", "french", "spanish"):
        own = sum(everything[word] for word in LANGUAGES[language] - english)
        if own >= 0.1 * total:
            stop |= LANGUAGES[language]
    counts = collections.Counter()
    for text in texts:
        kept = [not (word in stop or is_short(word) or is_common(word)) for word in text]
        counts.update(word for word, keep in zip(text, kept) if keep)
        pairs = zip(zip(text, kept), zip(text[1:], kept[1:]))
        counts.update(f"{a} {b}" for (a, keep_a), (b, keep_b) in pairs if keep_a and keep_b)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0].encode()))
    return [{"term": term, "count": count} for term, count in ranked[:SIZE]]


def main():
    muninn, *directories = sys.argv[1:]
    passed = failed = 0
    for directory in directories:
        command = [muninn, "wiki", "digest", "--json", "--dir", directory]
        digest = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        expected = cloud(directory)
        wrong = [(ours, theirs) for ours, theirs in itertools.zip_longest(digest["cloud"], expected) if ours != theirs]
        print(f"{'FAIL' if wrong else 'ok':5} {directory}: {digest['page_count']} pages, {len(expected)} terms: "
              + ", ".join(term["term"] for term in expected[:8]))
        for ours, theirs in wrong[:5]:
            print(f"      {ours} instead of {theirs}")
        passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
