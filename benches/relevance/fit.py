#!/usr/bin/env python3
"""Fits the probability that a prompt is about the repository (context-engine/src/relevance/weights.json), and scores it.

  bench relevance --set train --repos DIR --texts TEXTS --out ASKINGS --vectors VECTORS
  benches/relevance/fit.py ASKINGS VECTORS [--write FILE]     cross-validated scores; writes the weights
  benches/relevance/fit.py ASKINGS VECTORS --score FILE       scores written weights on other askings

Two ridge-regularised logistic regressions: one over the vector of the prompt alone (what does a question about code sound
like), and one over the features of the prompt in the repository, with the result of the first, also times the logarithm of
the prompt's length: a long prompt says more of itself, and chance finds more for it. A question that is asked in another
repository counts for CROSS prompts about none. Too few prompts have exact evidence for a fitted weight: it is EXACT. An
asking is scored by weights that saw neither its repository nor its prompt. Needs numpy.

The probability is that of a mix in which a share of the prompts is about the repository: the share for which one half is
the probability that this share of prompts about no repository reaches (OFF_TOPIC).
"""
import argparse
import collections
import json
import zlib

import numpy as np

FOLDS = 5
FORM_RIDGE = 8.0
RIDGE = 2.0
OFF_TOPIC = 0.035
CROSS = 2.0
EXACT = 0.8
FORM = ["form", "form_by_length"]
LENGTH = "length"
POSITIVE = ("on_topic", "question")


def logistic(rows, wanted, weights, ridge, offset=0.0):
    """Newton's method. The last coefficient is the constant, which has no ridge."""
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 1e-9
    fitted = np.zeros(rows.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-rows @ fitted - offset))
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
        rows = expand(data, chosen, form)
        self.mean, self.spread = rows.mean(0), rows.std(0) + 1e-9
        weights = balance(data.wanted[chosen]) * data.weight[chosen] * np.where(data.is_cross[chosen], CROSS, 1)
        rows = (rows - self.mean) / self.spread
        self.fitted = logistic(rows, data.wanted[chosen], weights, RIDGE, EXACT * data.exact[chosen])

    def score(self, data, chosen):
        form = apply(data.vectors[chosen], self.form)
        rows = (expand(data, chosen, form) - self.mean) / self.spread
        return apply(rows, self.fitted) + EXACT * data.exact[chosen]

    def written(self, names, bound):
        """The weights, with a constant that makes the score `bound` a probability of one half."""
        plain = self.fitted[:-1] / self.spread
        return {
            "form": [round(float(x), 4) for x in self.form[:-1]],
            "form_constant": round(float(self.form[-1]), 4),
            "weights": {name: round(float(x), 5) for name, x in zip(names, plain)} | {"exact": EXACT},
            "constant": round(float(self.fitted[-1] - plain @ self.mean - bound), 5),
        }


class Written(Model):
    def __init__(self, path, names):
        with open(path) as file:
            read = json.load(file)
        self.form = np.array(read["form"] + [read["form_constant"]])
        self.fitted = np.array([read["weights"][name] for name in names] + [read["constant"]])
        self.mean, self.spread = 0.0, 1.0


def expand(data, chosen, form):
    features = data.features[chosen]
    return np.column_stack([features, form, form * features[:, data.names.index(LENGTH)]])


def balance(wanted):
    share = wanted.mean()
    return np.where(wanted > 0, 0.5 / share, 0.5 / (1 - share))


class Data:
    def __init__(self, askings, vectors):
        with open(vectors) as lines:
            vector = {v["id"]: v["vector"] for v in map(json.loads, lines)}
        with open(askings) as lines:
            rows = [row for row in map(json.loads, lines) if row["features"]]
        self.rows = rows
        self.ids = [row["id"] for row in rows]
        self.repos = np.array([row["repo"] for row in rows])
        self.vectors = np.array([vector[row["id"]] for row in rows])
        self.names = sorted(rows[0]["features"].keys() - set(FORM)) + FORM
        self.features = np.array([[row["features"][name] for name in self.names[: -len(FORM)]] for row in rows])
        exact = self.names.index("exact")
        self.exact = self.features[:, exact].copy()
        self.features[:, exact] = 0
        is_about = [row["class"] in POSITIVE for row in rows]
        self.wanted = np.array([float(about and row["about"] == row["repo"]) for about, row in zip(is_about, rows)])
        self.is_cross = np.array([about and row["about"] != row["repo"] for about, row in zip(is_about, rows)])
        # Follow-ups teach what is no question. They are recognised before anything is decided, so scores leave them out.
        self.is_follow_up = np.array([row["class"] == "follow_up" for row in rows])
        # A prompt that is asked in many repositories counts as often as another.
        often = collections.Counter((row["id"], bool(want)) for row, want in zip(rows, self.wanted))
        self.weight = np.array([1 / often[row["id"], bool(want)] for row, want in zip(rows, self.wanted)])

    def off_topic(self):
        return ~(self.wanted > 0) & ~self.is_cross & ~self.is_follow_up


def report(data, scores):
    """What a threshold lets through, by class."""
    about = data.wanted > 0
    cross, off = data.is_cross, data.off_topic()
    positives, negatives = scores[about], scores[off]
    auc = np.mean(positives[:, None] > negatives[None, :])
    print(f"{about.sum()} about, {off.sum()} off-topic, {cross.sum()} cross; AUC against off-topic {auc:.3f}, "
          f"against cross {np.mean(positives[:, None] > scores[cross][None, :]):.3f}")
    for rate in (0.02, 0.03, 0.05, 0.08):
        bound = np.quantile(negatives, 1 - rate)
        print(f"  off-topic {rate:.0%}: about {np.mean(positives > bound):.1%}, cross {np.mean(scores[cross] > bound):.1%}, "
              f"p {1 / (1 + np.exp(-bound)):.2f}")
    by_class = collections.defaultdict(list)
    for row, score, is_cross in zip(data.rows, scores, cross):
        by_class[row["class"] + (" elsewhere" if is_cross else "")].append(score > 0)
    print("  at one half:", ", ".join(f"{name} {np.mean(over):.1%} of {len(over)}" for name, over in sorted(by_class.items())))
    print(f"  off-topic {np.mean(negatives > 0):.1%}, cross {np.mean(scores[cross] > 0):.1%}, about {np.mean(positives > 0):.1%}")
    reliability(data, scores)


def reliability(data, scores):
    """Said against observed probabilities, in the mix for which the scores are meant."""
    asked = ~data.is_follow_up
    p = 1 / (1 + np.exp(-scores[asked]))
    about, each = data.wanted[asked] > 0, data.weight[asked]
    weights = each * np.where(about, 1 / (each * about).sum(), 1 / (each * ~about).sum())
    # The share of prompts about the repository for which the mean probability is that share.
    low, high = 1e-3, 1 - 1e-3
    for _ in range(60):
        share = (low + high) / 2
        mixed = weights * np.where(about, share, 1 - share)
        low, high = (share, high) if (mixed * p).sum() > share else (low, share)
    print(f"  reliability where {share:.0%} of the prompts are about the repository:", end="")
    error = 0.0
    for least in np.arange(0, 1, 0.1):
        chosen = (p >= least) & (p < least + 0.1)
        if mixed[chosen].sum() > 0:
            said, was = np.average(p[chosen], weights=mixed[chosen]), np.average(about[chosen], weights=mixed[chosen])
            error += abs(said - was) * mixed[chosen].sum()
            print(f" {said:.2f}:{was:.2f} ({chosen.sum()})", end="")
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
        report(data, Written(options.score, data.names).score(data, np.arange(len(data.rows))))
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
    bound = np.quantile(scores[data.off_topic()], 1 - OFF_TOPIC)
    report(data, scores - bound)
    if options.write:
        written = Model(data, np.arange(len(data.rows))).written(data.names, bound)
        with open(options.write, "w") as file:
            json.dump(written, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
