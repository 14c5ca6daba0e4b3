"""Fits the trees of `memory/reconcile/src/judge/trees.json` to features of labelled pairs.

`data.py` writes the pairs, and `bench pairs --pairs FILE --features FILE` their features, a line for a line. The trees are fitted
to families and decisions; notes and changed notes are measured only. With `--validate` the figures of families are those of
cross-validation by author, and those of decisions by repository, under the exact rules and the threshold of the product.
"""
import argparse
import json
from pathlib import Path

import numpy
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold

CLASSES = ["contradiction", "duplicate", "neutral"]
MEASURED = ["notes", "changed"]
# Decisions of real projects are few, and their duplicates rarer still.
DECISIONS = {"contradiction": 25.0, "duplicate": 60.0, "neutral": 25.0}
# Pairs of documentation are many.
DOCUMENTATION = 0.5
FOLDS = 8
FITS = 2
# The threshold of `decide.rs`.
UNDECIDED = 0.4


class Data:
    def __init__(self, pairs, features):
        with open(pairs, encoding="utf-8") as file:
            self.pairs = [json.loads(line) for line in file]
        with open(features, encoding="utf-8") as file:
            for place, row in enumerate(map(json.loads, file)):
                if place == 0:
                    names, values = list(row), numpy.empty((len(self.pairs), len(row)), dtype=numpy.float32)
                values[place] = list(row.values())
        is_rule = numpy.array([name.startswith("rule:") for name in names])
        self.names = [name for name in names if not name.startswith("rule:")]
        self.x = values[:, ~is_rule]
        self.rules = {names[at]: values[:, at] > 0 for at in numpy.flatnonzero(is_rule)}
        self.y = numpy.array([CLASSES.index(pair["label"]) for pair in self.pairs])
        self.by = numpy.array([pair["by"] for pair in self.pairs])
        self.groups = numpy.array([pair.get("repo", pair["by"]) for pair in self.pairs])
        self.weights = numpy.array([weight(pair) for pair in self.pairs])
        self.fitted_to = ~numpy.isin(self.by, MEASURED)

    def fit(self, rows):
        """Two fits: the mean of their scores varies less than one."""
        return [
            classifier(seed).fit(self.x[rows], self.y[rows], sample_weight=self.weights[rows]) for seed in range(FITS)
        ]


def weight(pair):
    """The weight of a pair in the fit."""
    match pair["by"]:
        case "decisions":
            return DECISIONS[pair["label"]]
        case "documentation":
            return DOCUMENTATION
        case _:
            return 1.0


def classifier(seed):
    return HistGradientBoostingClassifier(
        max_iter=230, max_depth=4, learning_rate=0.06, l2_regularization=2.0, max_features=0.4, min_samples_leaf=20,
        early_stopping=False, random_state=seed,
    )


def probabilities(fitted, x):
    scores = numpy.mean([one._raw_predict(x) for one in fitted], axis=0)
    scores = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def validated(data):
    """The probabilities of each pair by trees that have not seen its author or repository."""
    found = numpy.zeros((len(data.y), len(CLASSES)))
    fitted = numpy.flatnonzero(data.fitted_to)
    for train, test in GroupKFold(FOLDS).split(fitted, groups=data.groups[fitted]):
        found[fitted[test]] = probabilities(data.fit(fitted[train]), data.x[fitted[test]])
    found[~data.fitted_to] = probabilities(data.fit(fitted), data.x[~data.fitted_to])
    return found


def interval(hits, of):
    """Wilson's score interval of a share, at 95%."""
    if not of:
        return [0.0, 1.0]
    z, share = 1.96, hits / of
    middle, spread = share + z * z / (2 * of), z * numpy.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return [round(float((middle + sign * spread) / (1 + z * z / of)), 3) for sign in (-1, 1)]


def reliability(probability, due):
    """(mean probability, share that is so, pairs) in ten bins."""
    bins = numpy.minimum((probability * 10).astype(int), 9)
    return [
        [round(float(probability[bins == at].mean()), 3), round(float(due[bins == at].mean()), 3), int((bins == at).sum())]
        for at in range(10)
        if (bins == at).any()
    ]


def texts_asked_about(data, rows, certainty):
    """(texts that are asked about because of an earlier one with which they hold, texts)."""
    ends = {at: (data.groups[at], max(data.pairs[at]["a"], data.pairs[at]["b"])) for at in rows if data.y[at] != 0}
    return [len({end for at, end in ends.items() if certainty[at] >= UNDECIDED}), len(set(ends.values()))]


def report(data, found):
    certainty = numpy.where(data.rules["rule:contradicts"], 1.0, found[:, 0])
    certainty[data.rules["rule:apart"] | data.rules["rule:equal"]] = 0.0
    named = ["documentation", "decisions", *MEASURED]
    families = ~numpy.isin(data.by, named)
    sources = ((source, data.by == source) for source in named)
    for source, here in [("families", families), *sources]:
        if not here.any():
            continue
        due, others = certainty[here & (data.y == 0)], certainty[here & (data.y != 0)]
        asked = lambda scores, threshold=UNDECIDED: int((scores >= threshold).sum())
        told = {"asked": [asked(due), len(due), interval(asked(due), len(due))]}
        for kind in sorted({pair["kind"] for pair, is_here in zip(data.pairs, here) if is_here and pair["label"] != "contradiction"}):
            scores = certainty[here & (data.y != 0) & numpy.array([pair["kind"] == kind for pair in data.pairs])]
            told[f"asked: {kind}"] = [asked(scores), len(scores)]
        told["texts asked about"] = texts_asked_about(data, numpy.flatnonzero(here), certainty)
        if not len(due):
            print(source, json.dumps(told))
            continue
        order = numpy.sort(others)[::-1]
        for share in (0.03, 0.1, 0.2):
            threshold = order[min(len(order) - 1, int(share * len(order)))]
            told[f"recall at {share}"] = [round(float((due > threshold).mean()), 3), round(float(threshold), 3)]
        hits, flagged = asked(due), asked(due) + asked(others)
        told["f1"] = round(2 * hits / (flagged + len(due)), 3)
        told["reliability"] = reliability(certainty[here], data.y[here] == 0)
        print(source, json.dumps(told))


def nodes(tree):
    """A tree as `trees.rs` reads it: a leaf is its score, an inner node a feature, a threshold and two children."""
    return [
        float(f"{node['value'] / FITS:.3g}") if node["is_leaf"]
        else [int(node["feature_idx"]), float(f"{node['num_threshold']:.6g}"), int(node["left"]), int(node["right"])]
        for node in tree.nodes
    ]


def exported(data, fitted):
    """The content of `trees.json`."""
    classes = [
        {
            "start": round(float(numpy.mean([one._baseline_prediction.ravel()[at] for one in fitted])), 5),
            "trees": [nodes(stage[at]) for one in fitted for stage in one._predictors],
        }
        for at in range(len(CLASSES))
    ]
    return {"features": data.names, "classes": classes}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=Path, required=True)
    options.add_argument("--features", type=Path, required=True)
    options.add_argument("--validate", action="store_true", help="print figures")
    options.add_argument("--out", type=Path, help="fit to families and decisions, and write the trees")
    options = options.parse_args()
    data = Data(options.pairs, options.features)
    if options.validate:
        report(data, validated(data))
    if options.out:
        fitted = data.fit(numpy.flatnonzero(data.fitted_to))
        options.out.write_text(json.dumps(exported(data, fitted), separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
