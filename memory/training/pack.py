"""Writes a table of vectors in the format of `memory/text/src/embed/static_file.rs`: 4 bits a number."""

import argparse
import hashlib
import pathlib
import struct

import numpy

CODES = 16


def codebook_of(rows, rounds=25):
    """The sixteen values with the least loss on rows of unit spread: Lloyd's algorithm on a sample, from even quantiles."""
    sample = numpy.sort(numpy.random.default_rng(0).choice(rows.ravel(), 400_000))
    book = numpy.quantile(sample, (numpy.arange(CODES) + 0.5) / CODES)
    for _ in range(rounds):
        edges = numpy.searchsorted(sample, (book[1:] + book[:-1]) / 2)
        book = numpy.array([part.mean() if len(part) else value for part, value in zip(numpy.split(sample, edges), book)])
    return book.astype(numpy.float32)


def codes_of(table):
    """(codebook, scales in 16 bits, codes): each row is `codebook[codes] * scale`, the scale by least squares."""
    spread = numpy.sqrt((table ** 2).mean(1, keepdims=True)) + 1e-12
    book = codebook_of(table / spread)
    codes = numpy.searchsorted((book[1:] + book[:-1]) / 2, table / spread).astype(numpy.uint8)
    levels = book[codes]
    scales = (table * levels).sum(1) / (levels ** 2).sum(1)
    # Rounded to the upper half of a float.
    return book, ((scales.astype("<f4").view("<u4") + 0x8000) >> 16).astype("<u2"), codes


def unpacked(book, scales, codes):
    """The table as a reader decodes it."""
    return book[codes] * (scales.astype("<u4") << 16).view("<f4")[:, None]


def packed(vocabulary, table, name):
    """The file's bytes."""
    book, scales, codes = codes_of(table)
    pieces = [piece.encode() for piece in vocabulary]
    body = bytes(map(len, pieces)) + b"".join(pieces) + scales.tobytes() + (codes[:, 0::2] | codes[:, 1::2] << 4).tobytes()
    # The id changes with the content, so that vectors of two trainings never mix.
    name = f"{name}-{hashlib.sha256(book.tobytes() + body).hexdigest()[:8]}".encode()
    head = b"MUNINNS1" + struct.pack("<II", table.shape[1], len(pieces)) + bytes([len(name)]) + name + book.tobytes()
    return head + body


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", type=pathlib.Path, required=True)
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--name", default="static", help="the beginning of the id")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    content = packed(args.vocabulary.read_text().split(), numpy.load(args.table), args.name)
    args.out.write_bytes(content)
    print(f"{args.out}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
