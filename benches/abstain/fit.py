"""Fits the weights by which the engine decides whether anything is packed (context-engine/src/threshold.rs).

    cargo run --release --manifest-path benches/Cargo.toml -- abstain --split tune --repos DIR --per-prompt tune.out
    python3 benches/abstain/fit.py tune.out

A ridge regression of what is about the repository against what is about something else; follow-ups are a class of
their own and take no part. Cross-validated: each asking is scored by weights that saw neither its repository nor its
prompt, since a prompt that is about none is asked in all. The bounds printed are sums before the size of a repository
is taken off, and before the engine's rule that there must be evidence.
"""

import json
import math
import sys
import zlib

RIDGE = 2.0
FOLDS = 5
SIGNS = ["margin", "rarity", "titles", "texts", "identifiers", "unknown"]


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


def fit(askings):
    """Newton's method over standardised signs; both classes weigh alike. The last weight is the constant."""
    n, k = len(askings), len(SIGNS)
    mean = [sum(a["signs"][s] for a in askings) / n for s in range(k)]
    spread = [math.sqrt(sum((a["signs"][s] - mean[s]) ** 2 for a in askings) / n) or 1.0 for s in range(k)]
    rows = [[(a["signs"][s] - mean[s]) / spread[s] for s in range(k)] + [1.0] for a in askings]
    wanted = [float(a["class"] == "on_topic") for a in askings]
    balance = (n - sum(wanted)) / sum(wanted)
    ridge = [RIDGE] * k + [1e-9]
    weights = [0.0] * (k + 1)
    for _ in range(50):
        gradient = [r * w for r, w in zip(ridge, weights)]
        hessian = [[ridge[i] if i == j else 0.0 for j in range(k + 1)] for i in range(k + 1)]
        for row, want in zip(rows, wanted):
            p = 1 / (1 + math.exp(-sum(x * w for x, w in zip(row, weights))))
            cost = balance if want else 1.0
            for i in range(k + 1):
                gradient[i] += cost * (p - want) * row[i]
                for j in range(k + 1):
                    hessian[i][j] += cost * p * (1 - p) * row[i] * row[j]
        step = solve(hessian, gradient)
        weights = [w - d for w, d in zip(weights, step)]
        if max(map(abs, step)) < 1e-9:
            break
    plain = [w / s for w, s in zip(weights, spread)]
    return plain + [weights[k] - sum(w * m for w, m in zip(plain, mean))]


def total(weights, asking):
    return sum(w * s for w, s in zip(weights, asking["signs"])) + weights[-1]


def main():
    with open(sys.argv[1]) as lines:
        askings = [json.loads(line) for line in lines]
    counts = {c: sum(a["class"] == c for a in askings) for c in ("off_topic", "on_topic")}
    asked = [a for a in askings if a["class"] in counts and a["signs"] and not a.get("reason", "").startswith("nothing")]
    fold = lambda a: zlib.crc32(a["prompt"].encode()) % FOLDS
    scored = []
    for repo in sorted({a["repo"] for a in asked}):
        for part in range(FOLDS):
            weights = fit([a for a in asked if a["repo"] != repo and fold(a) != part])
            scored += [(total(weights, a), a) for a in asked if a["repo"] == repo and fold(a) == part]
    print("bound  off_topic  on_topic  (cross-validated, percent of all askings)")
    for bound in [x / 4 for x in range(-2, 9)]:
        share = {
            c: 100 * sum(s > bound and a["class"] == c for s, a in scored) / counts[c] for c in counts
        }
        print(f"{bound:5.2f}  {share['off_topic']:9.1f}  {share['on_topic']:8.1f}")
    weights = fit(asked)
    print("fitted to all:", ", ".join(f"{n} {w:.2f}" for n, w in zip(SIGNS, weights)))
    print(f"a bound of 0 is a sum of {-weights[-1]:.2f} in the engine")


if __name__ == "__main__":
    main()
