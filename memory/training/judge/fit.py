"""Fits the trees of `memory/reconcile/src/judge/trees.json` to features of labelled pairs.

`data.py` writes the pairs, and `bench pairs --pairs FILE --features FILE` their features, a line for a line.
With `--validate` the figures are those of cross-validation by group, under the decisions of the product: exact rules,
objections, thresholds.
"""
import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GroupKFold

CLASSES = ["contradiction", "duplicate", "neutral"]
# Real decisions are rare and count most; a pair made from a statement counts by how alike it is to a real one.
WEIGHTS = {"decisions": 3.0, "captions": 0.16, "learnings": 0.5, "unrelated": 0.8}
DUPLICATES = {"decisions": 10.0, "captions": 0.02}
SYNTHETIC = {
    **{"number": 0.16, "name": 0.24, "preference": 0.4, "choice": 0.12, "against": 0.1, "scope": 0.16},
    **{"subject": 0.08, "subject-value": 0.12, "reworded": 0.04, "opposite": 0.04, "negation": 0.04},
    **{"value": 0.4, "many": 0.2, "another": 0.15, "other-attribute": 0.3, "phrasing": 0.25, "denied": 0.1, "denied-another": 0.3},
}
FOLDS = 8
FITS = 2
# The thresholds of `decide.rs`.
CONTRADICTS = 0.53
SAME = 0.4


def weight(pair):
    if pair["source"] == "synthetic":
        return SYNTHETIC[pair["kind"]]
    if pair["label"] == "duplicate":
        return DUPLICATES.get(pair["source"], WEIGHTS[pair["source"]])
    return WEIGHTS[pair["source"]]


def classifier(seed):
    return GradientBoostingClassifier(
        n_estimators=250, max_depth=3, learning_rate=0.08, subsample=0.6, max_features=0.4, min_samples_leaf=4, random_state=seed
    )


class Data:
    def __init__(self, pairs, features):
        with open(pairs, encoding="utf-8") as file:
            self.pairs = [json.loads(line) for line in file]
        with open(features, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.names = [name for name in rows[0] if not name.startswith("rule:")]
        self.x = numpy.array([[row[name] for name in self.names] for row in rows], dtype=numpy.float32)
        self.rules = {name: numpy.array([row[name] > 0 for row in rows]) for name in rows[0] if name.startswith("rule:")}
        self.y = numpy.array([CLASSES.index(pair["label"]) for pair in self.pairs])
        self.weights = numpy.array([weight(pair) for pair in self.pairs])
        self.groups = numpy.array([pair["group"] for pair in self.pairs])
        self.sources = numpy.array([pair["source"] for pair in self.pairs])

    def fit(self, rows):
        """Two fits: the mean of their scores varies less than one."""
        return [
            classifier(seed).fit(self.x[rows], self.y[rows], sample_weight=self.weights[rows]) for seed in range(FITS)
        ]


def fold(work):
    data, train, test = work
    scores = numpy.mean([fitted.decision_function(data.x[test]) for fitted in data.fit(train)], axis=0)
    scores = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return test, scores / scores.sum(axis=1, keepdims=True)


def validated(data, seeds):
    """The probabilities of each pair by trees that have not seen its group, the mean over assignments of groups."""
    found = numpy.zeros((len(data.y), len(CLASSES)))
    work = [
        (data, train, test)
        for seed in seeds
        for train, test in GroupKFold(FOLDS, shuffle=True, random_state=seed).split(data.x, data.y, data.groups)
    ]
    with ProcessPoolExecutor() as pool:
        for test, probabilities in pool.map(fold, work):
            found[test] += probabilities / len(seeds)
    return found


def decisions(data, probabilities):
    """What the product decides: whether each pair contradicts, and whether it is merged."""
    apart = data.rules["rule:apart"]
    contradicts = (data.rules["rule:contradicts"] | (probabilities[:, 0] >= CONTRADICTS)) & ~apart
    kept = data.rules["rule:opposes"] | data.rules["rule:adds"] | data.rules["rule:names"] | apart | contradicts
    same = (probabilities[:, 1] >= SAME) & ~kept
    return contradicts, same | data.rules["rule:equal"]


def interval(hits, of):
    """Wilson's score interval of a share, at 95%."""
    if not of:
        return [0.0, 1.0]
    z, share = 1.96, hits / of
    middle, spread = share + z * z / (2 * of), z * numpy.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return [round(float((middle + sign * spread) / (1 + z * z / of)), 3) for sign in (-1, 1)]


def scores(taken, due):
    hits, took, all_due = int((taken & due).sum()), int(taken.sum()), int(due.sum())
    share = lambda part, whole: round(part / whole, 3) if whole else 0.0
    return {
        "p": share(hits, took),
        "r": share(hits, all_due),
        "f1": share(2 * hits, took + all_due),
        "p_interval": interval(hits, took),
        "r_interval": interval(hits, all_due),
    }


def reliability(probability, due, weights=None):
    """(mean probability, share that is so, pairs) in ten bins."""
    bins = numpy.minimum((probability * 10).astype(int), 9)
    found = []
    for at in range(10):
        inside = bins == at
        if inside.any():
            found.append([round(float(probability[inside].mean()), 3), round(float(due[inside].mean()), 3), int(inside.sum())])
    return found


def report(data, probabilities):
    contradicts, same = decisions(data, probabilities)
    for source in ("decisions", "captions", "learnings", "unrelated"):
        here = data.sources == source
        if not here.any():
            continue
        y = data.y[here]
        wrong = int((same[here] & (y == 0)).sum())
        print(source, json.dumps({
            "pairs": int(here.sum()),
            "contradiction": scores(contradicts[here], y == 0),
            "duplicate": scores(same[here], y == 1),
            "wrong_merges": [wrong, int((y == 0).sum())],
            "neutral_flagged": [int((contradicts[here] & (y == 2)).sum()), int((y == 2).sum())],
            "reliability_contradiction": reliability(probabilities[here, 0], y == 0),
            "reliability_duplicate": reliability(probabilities[here, 1], y == 1),
        }))
    for change in ("value", "design"):
        here = numpy.array([pair.get("change") == change for pair in data.pairs])
        hits = int(contradicts[here].sum())
        print(f"reversals of a {change}: {hits} of {int(here.sum())} found, {interval(hits, int(here.sum()))}")


def nodes(tree, rate):
    """A tree as `trees.rs` reads it: a leaf is its score, an inner node a feature, a threshold and two children."""
    found = []
    for at in range(tree.node_count):
        low, high = int(tree.children_left[at]), int(tree.children_right[at])
        leaf = low < 0
        threshold = float(f"{tree.threshold[at]:.6g}")
        found.append(float(f"{tree.value[at].ravel()[0] * rate:.4g}") if leaf else [int(tree.feature[at]), threshold, low, high])
    return found


def exported(data, fitted):
    """The content of `trees.json`."""
    classes = []
    for at in range(len(CLASSES)):
        start = numpy.mean([numpy.log(one.init_.class_prior_[at]) for one in fitted])
        trees = [nodes(stage[at].tree_, one.learning_rate / len(fitted)) for one in fitted for stage in one.estimators_]
        classes.append({"start": round(float(start), 5), "trees": trees})
    return {"features": data.names, "classes": classes}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=Path, required=True)
    options.add_argument("--features", type=Path, required=True)
    options.add_argument("--validate", action="store_true", help="print figures of cross-validation")
    options.add_argument("--seeds", type=int, default=1, help="assignments of groups to folds")
    options.add_argument("--out", type=Path, help="fit to all pairs and write the trees")
    options = options.parse_args()
    data = Data(options.pairs, options.features)
    if options.validate:
        report(data, validated(data, range(options.seeds)))
    if options.out:
        fitted = data.fit(numpy.arange(len(data.y)))
        options.out.write_text(json.dumps(exported(data, fitted), separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
