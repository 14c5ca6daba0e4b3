"""Fits the weights by which the engine admits memories (context-engine/src/memory_selection/probability.rs).

    cargo run --release --manifest-path benches/Cargo.toml -- admit --repos DIR --per-question train.jsonl
    python3 benches/admit/fit.py train.jsonl [OTHER.jsonl ...]

A ridge regression of the facts that answer their question against all other recalled facts. Cross-validated over
questions: all facts of a question are scored by weights that have not seen it. The table shows the percentage of facts
that are injected if 1, 2 or 5 percent of the questions without a fact get one, for each file.
"""

import json
import math
import sys
import zlib

RIDGE = 3.0
FOLDS = 5
RECALLED = 4
NAMES = ["evidence", "cosine", "lead", "identifiers", "places", "crowd", "proposal", "code", "words"]


def solve(matrix, vector):
    """Gauss-Jordan, with the largest pivot of a column."""
    n = len(vector)
    rows = [row[:] + [value] for row, value in zip(matrix, vector)]
    for at in range(n):
        pivot = max(range(at, n), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for other in range(n):
            if other != at:
                factor = rows[other][at] / rows[at][at]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[at])]
    return [rows[at][n] / rows[at][at] for at in range(n)]


def fit(samples):
    """Newton's method over standardised features. The last weight is the constant."""
    n, k = len(samples), len(NAMES)
    mean = [sum(x[i] for x, _ in samples) / n for i in range(k)]
    spread = [math.sqrt(sum((x[i] - mean[i]) ** 2 for x, _ in samples) / n) or 1.0 for i in range(k)]
    rows = [([(x[i] - mean[i]) / spread[i] for i in range(k)] + [1.0], answers) for x, answers in samples]
    ridge, weights = [RIDGE] * k + [1e-9], [0.0] * (k + 1)
    for _ in range(50):
        gradient = [r * w for r, w in zip(ridge, weights)]
        hessian = [[ridge[i] if i == j else 0.0 for j in range(k + 1)] for i in range(k + 1)]
        for row, answers in rows:
            p = 1 / (1 + math.exp(-sum(x * w for x, w in zip(row, weights))))
            for i in range(k + 1):
                gradient[i] += (p - answers) * row[i]
                for j in range(k + 1):
                    hessian[i][j] += p * (1 - p) * row[i] * row[j]
        step = solve(hessian, gradient)
        weights = [w - d for w, d in zip(weights, step)]
        if max(map(abs, step)) < 1e-9:
            break
    plain = [w / s for w, s in zip(weights, spread)]
    return plain + [weights[k] - sum(w * m for w, m in zip(plain, mean))]


def probability(weights, features):
    return 1 / (1 + math.exp(-sum(w * x for w, x in zip(weights, features)) - weights[-1]))


def main():
    asked = []
    for path in sys.argv[1:]:
        with open(path) as lines:
            asked += [{**json.loads(line), "file": path} for line in lines]
    for one in asked:
        ranked = one["ranked"][:RECALLED]
        one["samples"] = [(x[: len(NAMES)], float(fact == one["fact"])) for fact, x in ranked]
        one["fold"] = zlib.crc32(one["question"].encode()) % FOLDS
    for fold in range(FOLDS):
        weights = fit([s for one in asked if one["fold"] != fold for s in one["samples"]])
        for one in (one for one in asked if one["fold"] == fold):
            scored = [(probability(weights, x) if x[0] > 0 else 0.0, answers) for x, answers in one["samples"]]
            one["scored"] = sorted(scored, reverse=True)
    for path in sys.argv[1:]:
        of_file = [one for one in asked if one["file"] == path]
        wrong = sorted((max([p for p, _ in one["scored"]], default=0.0) for one in of_file if one["fact"] is None), reverse=True)
        facts = [one for one in of_file if one["fact"] is not None]
        for share in (0.01, 0.02, 0.05):
            least = wrong[int(share * len(wrong))]
            injected = sum(any(answers and p > least for p, answers in one["scored"]) for one in facts)
            print(f"{path}: {100 * share:.0f}% wrong above {least:.2f}: {100 * injected / len(facts):.1f}% injected")
    weights = fit([s for one in asked for s in one["samples"]])
    print("fitted to all:", ", ".join(f"{n} {w:.2f}" for n, w in zip(NAMES + ["constant"], weights)))


if __name__ == "__main__":
    main()
