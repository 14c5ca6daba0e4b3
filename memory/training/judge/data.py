"""Labelled pairs of statements as JSON objects, a line each: `id`, `a`, `b`, `label`, `kind`, `by`, and `repo` of decisions.

A line of `families/` has a note (`old`), two notes that replace it (`changed`), two that repeat it (`same`) and four that hold
beside it (`compatible`). A file has one author, whose families cross-validation keeps together.
"""
import argparse
import json
import random
from pathlib import Path

FAMILIES = Path(__file__).with_name("families")


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def words(text):
    return {word.strip(".,;:()").lower() for word in text.split() if len(word) > 3}


def nearest(family, others):
    """The note of another family of the same author that shares the most words."""
    own = words(family["old"])
    return max(others, key=lambda other: len(own & words(other["old"])) / (1 + len(words(other["old"]))))


def pairs(family, near, choose):
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
    yield old, near["old"], "neutral", "near"
    yield choose(changed), near["changed"][0]["text"], "neutral", "near"


def families():
    choose = random.Random(2).choice
    for path in sorted(FAMILIES.glob("*.jsonl")):
        found, by = lines(path), path.stem
        for number, family in enumerate(found):
            others = [other for other in found if other is not family]
            for a, b, label, kind in pairs(family, nearest(family, others), choose):
                yield {"id": f"{by}-{number}", "a": a, "b": b, "label": label, "kind": kind, "by": by}


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
    options.add_argument("--decisions", type=Path, help="directory of reversals, same, ...")
    options.add_argument("--notes", type=Path, help="labelled pairs of notes; to measure only")
    options.add_argument("--changed", type=Path, help="pairs of short notes; to measure only")
    options.add_argument("--out", type=Path, required=True)
    options = options.parse_args()
    found = list(families())
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
