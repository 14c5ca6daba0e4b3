"""Trains the student in two stages, and evaluates each on finding held-out code by its comment.

1. Distil: each piece gets the teacher's vector for it alone, projected and weighted by how rare it is.
2. Contrast: of a batch of pairs, a comment has to find its own code, and the code its comment. A part of each batch comes
   from one package, where the wrong answers are the likely ones.
"""

import argparse
import json
import pathlib
import time

import numpy
import torch

import pieces
import student

QUERY_PIECES, TEXT_PIECES = 64, 512
SEED = 20261121


def load(path, made):
    """Pairs with their bags."""
    pairs = [json.loads(line) for line in open(path)]
    queries = student.Bags(pieces.pieces_of(made, [pair["query"] for pair in pairs], QUERY_PIECES))
    texts = student.Bags(pieces.pieces_of(made, [pair["text"] for pair in pairs], TEXT_PIECES))
    return pairs, queries, texts


class Held:
    """The held-out comments and code: 2,000 of them in one pool, and each package by itself."""

    def __init__(self, path, made):
        pairs, self.queries, self.texts = load(path, made)
        documented = [at for at, pair in enumerate(pairs) if pair["kind"] == "doc"]
        self.pool = sorted(numpy.random.default_rng(SEED).choice(documented, 2000, replace=False))
        packages = {}
        for at in documented:
            packages.setdefault(pairs[at]["package"], []).append(at)
        self.packages = [members for members in packages.values() if len(members) >= 100]

    @torch.no_grad()
    def score(self, table):
        """MRR@10 in the pool, and the mean over the packages."""
        rank = lambda chosen: student.reciprocal_rank(*(student.embed(table, bags, chosen) for bags in (self.queries, self.texts)))
        return rank(self.pool), sum(map(rank, self.packages)) / len(self.packages)


def distilled(taught, bags, size, dimensions):
    """The table of the first stage."""
    rows = torch.from_numpy(numpy.load(taught).astype(numpy.float32))
    counts = torch.from_numpy(numpy.bincount(bags.ids, minlength=size).astype(numpy.float32))
    projection, mean = student.components(rows, dimensions)
    return (rows - mean) @ projection * student.zipf(counts)[:, None]


def batches(packages, size, together, generator):
    """Positions of pairs, each once: batches of groups of `together` pairs of one package."""
    groups = []
    for members in packages:
        mixed = generator.permutation(members)
        groups += [mixed[at:at + together] for at in range(0, len(mixed), together)]
    order = generator.permutation(len(groups))
    flat = numpy.concatenate([groups[at] for at in order])
    return [flat[at:at + size] for at in range(0, len(flat) - size + 1, size)]


def contrast(table, pairs, bags, held, args):
    """The second stage."""
    packages = {}
    for at, pair in enumerate(pairs):
        packages.setdefault(pair["package"], []).append(at)
    generator = numpy.random.default_rng(SEED)
    optimizer = torch.optim.Adam([table], lr=0)
    step, steps = 0, args.epochs * (len(pairs) // args.batch)
    for epoch in range(args.epochs):
        losses = []
        for chosen in batches(list(packages.values()), args.batch, args.together, generator):
            optimizer.param_groups[0]["lr"] = student.learning_rate(min(step, steps - 1), steps, args.rate)
            queries, texts = (student.embed(table, bags[part], chosen) for part in ("query", "text"))
            scores = queries @ texts.T / args.temperature
            own = torch.arange(len(chosen))
            loss = torch.nn.functional.cross_entropy(scores, own) + torch.nn.functional.cross_entropy(scores.T, own)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()) / 2)
            step += 1
        note(f"contrast {epoch + 1}", table, held, f"loss {sum(losses) / len(losses):.3f}")


def note(stage, table, held, more=""):
    """One line per stage: the name, MRR@10 in the pool and by package, seconds of processor so far."""
    pool, packages = held.score(table.detach())
    print(f"{stage:12} pool {pool:.4f} packages {packages:.4f} {more} cpu {time.process_time():.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=pathlib.Path, required=True, help="the folder of train.jsonl and held.jsonl")
    parser.add_argument("--vocabulary", type=pathlib.Path, required=True)
    parser.add_argument("--taught", type=pathlib.Path, required=True, help="what teach.py wrote")
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--together", type=int, default=128)
    parser.add_argument("--rate", type=float, default=0.003)
    parser.add_argument("--temperature", type=float, default=0.05)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for one .npy of each stage")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    args.out.mkdir(parents=True, exist_ok=True)
    vocabulary = args.vocabulary.read_text().split()
    made = pieces.tokenizer(vocabulary)
    pairs, queries, texts = load(args.corpus / "train.jsonl", made)
    bags = {"query": queries, "text": texts}
    held = Held(args.corpus / "held.jsonl", made)
    table = distilled(args.taught, texts, len(vocabulary), args.dimensions).requires_grad_(True)
    save = lambda stage: numpy.save(args.out / f"{stage}.npy", table.detach().numpy())
    note("distil", table, held)
    save("distilled")
    contrast(table, pairs, bags, held, args)
    save("trained")


if __name__ == "__main__":
    main()
