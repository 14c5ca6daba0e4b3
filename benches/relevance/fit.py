#!/usr/bin/env python3
"""Fits the probability that a prompt is about the repository (context-engine/src/relevance.json), and scores it.

  bench relevance --set train --repos DIR --texts TEXTS --out ASKINGS --vectors VECTORS
  benches/relevance/fit.py ASKINGS VECTORS [--write FILE]     cross-validated scores; writes the weights
  benches/relevance/fit.py ASKINGS VECTORS --score FILE       scores written weights on other askings

Two ridge-regularised logistic regressions: one over the vector of the prompt alone (what does a question about code sound
like), and one over the features of the prompt in the repository, with the result of the first. An asking is scored by
weights that saw neither its repository nor its prompt. Needs numpy.
"""
import argparse
import collections
import json
import zlib

import numpy as np

FOLDS = 5
FORM_RIDGE = 8.0
RIDGE = 2.0
POSITIVE = ("on_topic", "question")


def logistic(rows, wanted, weights, ridge):
    """Newton's method. The last coefficient is the constant, which has no ridge."""
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 1e-9
    fitted = np.zeros(rows.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-rows @ fitted))
        gradient = rows.T @ (weights * (p - wanted)) + penalty * fitted
        hessian = (rows * (weights * p * (1 - p))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        fitted -= step
        if np.abs(step).max() < 1e-8:
            break
    return fitted


def apply(rows, fitted):
    return rows @ fitted[:-1] + fitted[-1]


class Model:
    def __init__(self, data, chosen):
        """Fits to the askings with the numbers `chosen`."""
        first = {}
        for number in chosen:
            if not data.is_cross[number]:
                first.setdefault(data.ids[number], number)
        texts = np.array(sorted(first.values()))
        fold = np.array([zlib.crc32(data.ids[n].encode()) % FOLDS for n in texts])
        share = balance(data.wanted[texts])
        # The second regression learns from scores of texts that the first had not seen, as it will be used.
        unseen = {}
        for part in range(FOLDS):
            rest = texts[fold != part]
            fitted = logistic(data.vectors[rest], data.wanted[rest], share[fold != part], FORM_RIDGE)
            for n in texts[fold == part]:
                unseen[data.ids[n]] = apply(data.vectors[n : n + 1], fitted)[0]
        self.form = logistic(data.vectors[texts], data.wanted[texts], share, FORM_RIDGE)
        form = np.array([
            unseen[data.ids[n]] if data.ids[n] in unseen else apply(data.vectors[n : n + 1], self.form)[0] for n in chosen
        ])
        rows = expand(data.features[chosen], form)
        self.mean, self.spread = rows.mean(0), rows.std(0) + 1e-9
        weights = balance(data.wanted[chosen]) * data.weight[chosen]
        self.fitted = logistic((rows - self.mean) / self.spread, data.wanted[chosen], weights, RIDGE)

    def score(self, data, chosen):
        form = apply(data.vectors[chosen], self.form)
        return apply((expand(data.features[chosen], form) - self.mean) / self.spread, self.fitted)

    def written(self):
        plain = self.fitted[:-1] / self.spread
        return {
            "form": [round(float(x), 4) for x in self.form[:-1]],
            "form_constant": round(float(self.form[-1]), 4),
            "weights": [round(float(x), 5) for x in plain],
            "constant": round(float(self.fitted[-1] - plain @ self.mean), 5),
        }


class Written(Model):
    def __init__(self, path):
        with open(path) as file:
            read = json.load(file)
        self.form = np.array(read["form"] + [read["form_constant"]])
        self.fitted = np.array(read["weights"] + [read["constant"]])
        self.mean, self.spread = 0.0, 1.0


def expand(features, form):
    return np.hstack([features, form[:, None]])


def balance(wanted):
    share = wanted.mean()
    return np.where(wanted > 0, 0.5 / share, 0.5 / (1 - share))


class Data:
    def __init__(self, askings, vectors):
        with open(vectors) as lines:
            vector = {v["id"]: v["vector"] for v in map(json.loads, lines)}
        with open(askings) as lines:
            rows = [row for row in map(json.loads, lines) if row["class"] != "follow_up" and row["features"]]
        self.rows = rows
        self.ids = [row["id"] for row in rows]
        self.repos = np.array([row["repo"] for row in rows])
        self.vectors = np.array([vector[row["id"]] for row in rows])
        self.features = np.array([row["features"] for row in rows])
        is_about = [row["class"] in POSITIVE for row in rows]
        self.wanted = np.array([float(about and row["about"] == row["repo"]) for about, row in zip(is_about, rows)])
        self.is_cross = np.array([about and row["about"] != row["repo"] for about, row in zip(is_about, rows)])
        # A prompt that is asked in many repositories counts as often as another.
        often = collections.Counter((row["id"], bool(want)) for row, want in zip(rows, self.wanted))
        self.weight = np.array([1 / often[row["id"], bool(want)] for row, want in zip(rows, self.wanted)])


def report(data, scores):
    about = data.wanted > 0
    cross, off = data.is_cross, ~about & ~data.is_cross
    order = np.argsort(scores)
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(len(scores))
    positives, negatives = scores[about], scores[off]
    auc = np.mean(positives[:, None] > negatives[None, :])
    print(f"{about.sum()} about, {off.sum()} off-topic, {cross.sum()} cross; AUC against off-topic {auc:.3f}, "
          f"against cross {np.mean(positives[:, None] > scores[cross][None, :]):.3f}")
    for rate in (0.02, 0.03, 0.05, 0.08):
        bound = np.quantile(negatives, 1 - rate)
        print(f"  off-topic {rate:.0%}: about {np.mean(positives > bound):.1%}, cross {np.mean(scores[cross] > bound):.1%}, "
              f"p {1 / (1 + np.exp(-bound)):.2f}")
    by_class = collections.defaultdict(list)
    bound = np.quantile(negatives, 0.95)
    for row, score, is_about, is_cross in zip(data.rows, scores, about, cross):
        by_class[row["class"] + (" elsewhere" if is_cross else "")].append(score > bound)
    print("  at 5%:", ", ".join(f"{name} {np.mean(over):.1%} of {len(over)}" for name, over in sorted(by_class.items())))
    p = 1 / (1 + np.exp(-scores))
    error = 0.0
    print("  reliability (weights balanced):", end="")
    weights = balance(data.wanted) * data.weight
    for low in np.arange(0, 1, 0.1):
        chosen = (p >= low) & (p < low + 0.1)
        if weights[chosen].sum() > 0:
            said = np.average(p[chosen], weights=weights[chosen])
            was = np.average(data.wanted[chosen], weights=weights[chosen])
            error += abs(said - was) * weights[chosen].sum() / weights.sum()
            print(f" {said:.2f}:{was:.2f}", end="")
    print(f"; expected calibration error {error:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("askings")
    parser.add_argument("vectors")
    parser.add_argument("--write")
    parser.add_argument("--score")
    options = parser.parse_args()
    data = Data(options.askings, options.vectors)
    if options.score:
        report(data, Written(options.score).score(data, np.arange(len(data.rows))))
        return
    repo_fold = np.array([zlib.crc32(repo.encode()) % FOLDS for repo in data.repos])
    text_fold = np.array([zlib.crc32(("x" + i).encode()) % FOLDS for i in data.ids])
    scores = np.zeros(len(data.rows))
    for repo in range(FOLDS):
        for text in range(FOLDS):
            wanted = (repo_fold == repo) & (text_fold == text)
            if wanted.any():
                model = Model(data, np.flatnonzero((repo_fold != repo) & (text_fold != text)))
                scores[wanted] = model.score(data, np.flatnonzero(wanted))
    report(data, scores)
    if options.write:
        with open(options.write, "w") as file:
            json.dump(Model(data, np.arange(len(data.rows))).written(), file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
