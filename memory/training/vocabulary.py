"""Chooses the pieces: MiniLM's own that are plain letters and digits, and words of code that it lacks.

The file's size is a row's size times the number of pieces, so a piece has to earn its place: MiniLM's rare ones, which the
corpus never holds, make room for `kwargs`, `ndarray`, `mutex` and their like.
"""

import argparse
import collections
import json
import pathlib
import re

import pieces
import teacher

PLAIN = re.compile(r"(##)?[a-z0-9]+")


def choose(corpus, rows, added):
    """The chosen pieces: at most `added` new words, and MiniLM's up to `rows` in all, in a fixed order."""
    own = [piece for piece in (teacher.model_dir() / "vocab.txt").read_text().splitlines() if PLAIN.fullmatch(piece)]
    known = set(own)
    texts_with, packages_with = collections.Counter(), collections.defaultdict(set)
    for line in open(corpus):
        pair = json.loads(line)
        words = set(pieces.words_of(pair["query"] + "\n" + pair["text"]))
        texts_with.update(words)
        for word in words - known:
            packages_with[word].add(pair["package"])
    # A word of a single project is not general, however frequent it is.
    new = [(texts_with[word], word) for word, packages in packages_with.items()
           if 3 <= len(word) <= 20 and re.fullmatch(r"[a-z][a-z0-9]*", word) and len(packages) >= 3]
    new = [word for count, word in sorted(new, key=lambda pair: (-pair[0], pair[1]))[:added] if count >= 5]
    used = collections.Counter()
    made = pieces.tokenizer(own + new)
    names = own + new
    for word, count in texts_with.items():
        for one in pieces.pieces_of(made, [word])[0]:
            used[names[one]] += count
    # Words of prose that are rare in the corpus: MiniLM's list is ordered by frequency.
    place = {piece: at for at, piece in enumerate(own)}
    must = {piece for piece in own if len(piece.removeprefix("##")) == 1}
    ranked = sorted(own, key=lambda piece: (piece not in must, -min(used[piece], 20), place[piece]))
    kept = set(ranked[:rows - len(new)])
    return sorted(kept) + sorted(new), used


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=28000)
    parser.add_argument("--added", type=int, default=6000)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    chosen, used = choose(args.corpus, args.rows, args.added)
    args.out.write_text("\n".join(chosen) + "\n")
    print(f"{len(chosen)} pieces, {sum(used[piece] > 0 for piece in chosen)} of them in the corpus")


if __name__ == "__main__":
    main()
