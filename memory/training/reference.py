"""Reference vectors of all-MiniLM-L6-v2 for the 100 texts in the test of the candle implementation.

Run with `--choose` it takes the texts anew from this repository: paragraphs of its documents, definitions and whole files
of its code, and the awkward ones below. Without, it only computes their vectors.
"""

import argparse
import json
import pathlib
import random
import re

import numpy

from teacher import Teacher

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "memory/text/src/embed/minilm"
AWKWARD = [
    "", " ", "\n\t", "\0", "a", ".", "?!", "HTTP", "_", "\u00e9", "caf\u00e9 cafe\u0301 na\u00efve r\u00e9sum\u00e9", "\u0130stanbul \u0131\u015f\u0131k",
    "\u4e2d\u6587\u5206\u8bcd", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8", "\ud55c\uad6d\uc5b4", "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u0442\u0435\u043a\u0441\u0442", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\U0001f600 \U0001f680", "zero\u200bwidth and\u00a0no-break",
    "a" * 99, "a" * 100, "a" * 101, "[CLS] [SEP] [PAD] [MASK]", "how do I retry a request that failed?", "x = y[0] << 2 ^ ~z",
    "where is the ledger replayed", "0x7fffffff 3.14159 1e-9", "C:\\Users\\x\\file.txt ../../etc/hosts https://example.com/a?b=c#d",
    "{\"key\": [1, 2, {\"a\": null}]}", "SELECT id FROM users WHERE name LIKE '%a%' ORDER BY id DESC",
]


def choose():
    """100 texts: unusual ones, and equal numbers of documents, definitions and whole files."""
    take = random.Random(7)
    documents = "\n\n".join((ROOT / name).read_text() for name in ("README.md", "ARCHITECTURE.md", "SECURITY.md"))
    paragraphs = [part for part in documents.split("\n\n") if len(part) > 60]
    sources = sorted(ROOT.glob("*/src/**/*.rs"))
    definitions = [part for path in sources for part in re.findall(r"(?ms)^    fn .*?^    }$|^fn .*?^}$", path.read_text())]
    files = [path.read_text()[:6000] for path in sources]
    return AWKWARD + take.sample(paragraphs, 28) + take.sample(definitions, 34) + take.sample(files, 8)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--choose", action="store_true")
    args = parser.parse_args()
    texts_file = FOLDER / "reference.json"
    if args.choose:
        texts_file.write_text(json.dumps(choose(), indent=0, ensure_ascii=True) + "\n")
    texts = json.loads(texts_file.read_text())
    rows = Teacher().embed(texts)
    (FOLDER / "reference.bin").write_bytes(numpy.round(rows * 32767).astype("<i2").tobytes())
    print(f"{len(texts)} texts, {rows.shape[1]} numbers each")


if __name__ == "__main__":
    main()
