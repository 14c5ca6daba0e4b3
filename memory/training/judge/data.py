"""Labelled pairs of statements as JSON objects, a line each: `id`, `a`, `b`, `label`, `kind`, `by`, and `repo` of decisions.

Most pairs that a store compares are unrelated, and share words: so each note of a family, and each statement of a
documentation, is paired with those of its author or repository that share the most.

A line of `families/` has a note (`old`), two notes that replace it (`changed`), two that repeat it (`same`) and four that hold
beside it (`compatible`). A file has one author, whose families cross-validation keeps together.
"""
import argparse
import json
import math
import random
import re
from collections import Counter
from pathlib import Path

FAMILIES = Path(__file__).with_name("families")
# Unrelated notes that each note of a family is paired with, and each statement of a documentation. Recall brings up twenty.
NEAR, FAR = 16, 4
DOCUMENTATION_NEAR, DOCUMENTATION_FAR = 10, 2
# Statements of one documentation that share more are often the same one.
REPEATED = 0.8


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Near:
    """Finds the texts that share the most words, rare ones before others."""

    def __init__(self, corpus):
        seen = Counter(word for text in corpus for word in words(text))
        self.weights = {word: math.log(len(corpus) / (1 + count)) for word, count in seen.items()}

    def weight(self, found):
        return sum(max(0.0, self.weights[word]) for word in found)

    def share(self, one, other):
        """The share of two sets of words that is common, by weight."""
        all_of = self.weight(one) + self.weight(other)
        return 2 * self.weight(one & other) / all_of if all_of else 0.0

    def among(self, texts, near, far, choose):
        """For each text the positions of others: the nearest, and some of all."""
        found = [words(text) for text in texts]
        for at, own in enumerate(found):
            shares = ((self.share(own, other), place) for place, other in enumerate(found) if place != at)
            nearest = sorted((-share, place) for share, place in shares if share < REPEATED)[:near]
            yield [place for _, place in nearest] + [choose(range(len(texts))) for _ in range(far)]


def words(text):
    return {word.lower().removesuffix("s") for word in re.findall(r"[A-Za-z_]\w+|\d+", text)}


def pairs(family, unrelated, choose):
    """The pairs of a family with their labels: what is changed contradicts what is old or the same, and so on."""
    old, same = family["old"], family["same"]
    changed = [one["text"] for one in family["changed"]]
    yield from ((old, one["text"], "contradiction", one["kind"]) for one in family["changed"])
    yield from ((one, other, "contradiction", "changed") for one in same for other in changed)
    yield changed[0], changed[1], "contradiction", "changed"
    yield from ((one, other, "duplicate", "same") for one, other in [(old, same[0]), (old, same[1]), same])
    for one in family["compatible"]:
        yield old, one["text"], "neutral", one["kind"]
        yield choose(changed), one["text"], "neutral", one["kind"]
        yield choose(same), one["text"], "neutral", one["kind"]
    yield family["compatible"][0]["text"], family["compatible"][1]["text"], "neutral", "compatible"
    yield from ((choose([old, *changed]), other, "neutral", "unrelated") for other in unrelated)


def families():
    choose = random.Random(2).choice
    for path in sorted(FAMILIES.glob("*.jsonl")):
        found, by = lines(path), path.stem
        olds = [family["old"] for family in found]
        for number, others in enumerate(Near(olds).among(olds, NEAR, FAR, choose)):
            unrelated = (found[other] for other in others if other != number)
            sides = ([one["old"], one["same"][0], one["changed"][0]["text"], one["compatible"][0]["text"]] for one in unrelated)
            for a, b, label, kind in pairs(found[number], [choose(texts) for texts in sides], choose):
                yield {"id": f"{by}-{number}", "a": a, "b": b, "label": label, "kind": kind, "by": by}


def documentation(path):
    choose, by_repo = random.Random(3).choice, {}
    for one in lines(path):
        by_repo.setdefault(one["repo"], []).append(one["text"])
    near = Near([text for texts in by_repo.values() for text in texts])
    for repo, texts in sorted(by_repo.items()):
        found = set()
        for at, others in enumerate(near.among(texts, DOCUMENTATION_NEAR, DOCUMENTATION_FAR, choose)):
            found |= {(min(at, other), max(at, other)) for other in others if other != at}
        for a, b in sorted(found):
            ends = {"a": texts[a], "b": texts[b]}
            yield {"id": f"{repo}-{a}-{b}", **ends, "label": "neutral", "kind": "documentation", "by": "documentation", "repo": repo}


def decisions(directory):
    """Statements of real projects that replace each other, say the same, or look alike in another scope."""
    sides = {
        "reversals": ("contradiction", lambda one: (one["old"]["text"], one["new"]["text"])),
        "same": ("duplicate", lambda one: (one["a"]["text"], one["b"]["text"])),
        "hard_negatives": ("neutral", lambda one: (one["a"], one["b"])),
    }
    for name, (label, texts) in sides.items():
        for one in lines(directory / f"{name}.jsonl"):
            a, b = texts(one)
            yield {"id": one["id"], "a": a, "b": b, "label": label, "kind": one.get("change", name), "by": "decisions", "repo": one["repo"]}


def changed(path):
    """Lines of `c`, `s` or `u`, and two notes."""
    labels = {"c": "contradiction", "s": "duplicate", "u": "neutral"}
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, a, b = line.split("\t")
        yield {"id": a, "a": a, "b": b, "label": labels[kind], "kind": kind, "by": "changed"}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documentation", type=Path, help="statements that documentation.py has collected")
    options.add_argument("--decisions", type=Path, help="directory of reversals, same, ...")
    options.add_argument("--notes", type=Path, help="labelled pairs of notes; to measure only")
    options.add_argument("--changed", type=Path, help="pairs of short notes; to measure only")
    options.add_argument("--out", type=Path, required=True)
    options = options.parse_args()
    found = list(families())
    if options.documentation:
        found += documentation(options.documentation)
    if options.decisions:
        found += decisions(options.decisions)
    if options.notes:
        found += [{**one, "by": "notes"} for one in lines(options.notes)]
    if options.changed:
        found += changed(options.changed)
    with open(options.out, "w", encoding="utf-8") as file:
        for one in found:
            file.write(json.dumps(one) + "\n")


if __name__ == "__main__":
    main()
