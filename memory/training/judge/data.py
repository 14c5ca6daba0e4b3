"""Labelled pairs of statements as one list of JSON objects: `a`, `b`, `label`, `source`, `group`.

A group is what cross-validation keeps together: a repository, or a pair's own id.
"""
import argparse
import json
from pathlib import Path

import synthetic


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def pair(a, b, label, source, group, **more):
    return {"a": a, "b": b, "label": label, "source": source, "group": group, **more}


def decisions(directory):
    """Statements of real projects that replace each other, say the same, or look alike in another scope."""
    for one in lines(directory / "reversals.jsonl"):
        text = one["old"]["text"], one["new"]["text"]
        yield pair(*text, "contradiction", "decisions", one["repo"], id=one["id"], change=one["change"])
    for one in lines(directory / "same.jsonl"):
        yield pair(one["a"]["text"], one["b"]["text"], "duplicate", "decisions", one["repo"], id=one["id"])
    for one in lines(directory / "hard_negatives.jsonl"):
        yield pair(one["a"], one["b"], "neutral", "decisions", one["repo"], id=one["id"])


def labelled(path, source):
    for one in lines(path):
        label = "duplicate" if one["label"] == "entailment" else one["label"]
        yield pair(one["a"], one["b"], label, source, one["id"], id=one["id"])


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--decisions", type=Path, required=True, help="directory of reversals, same, ...")
    options.add_argument("--captions", type=Path, help="labelled pairs of everyday sentences")
    options.add_argument("--learnings", type=Path, help="labelled pairs of learnings")
    options.add_argument("--out", type=Path, required=True)
    options = options.parse_args()
    found = list(decisions(options.decisions))
    if options.captions:
        found += labelled(options.captions, "captions")
    if options.learnings:
        found += labelled(options.learnings, "learnings")
    statements = [(one["text"], one["repo"]) for one in lines(options.decisions / "unrelated.jsonl")]
    found += [pair(a, b, "neutral", "unrelated", group) for a, b, group in synthetic.near(statements)]
    found += [
        pair(a, b, label, "synthetic", group, kind=kind)
        for a, b, label, group, kind in synthetic.changed(statements)
    ]
    found += [
        pair(a, b, label, "synthetic", group, kind=kind)
        for a, b, label, group, kind in synthetic.templates(Path(__file__).with_name("templates.json"))
    ]
    with open(options.out, "w", encoding="utf-8") as file:
        for one in found:
            file.write(json.dumps(one) + "\n")


if __name__ == "__main__":
    main()
