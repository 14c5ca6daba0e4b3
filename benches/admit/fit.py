#!/usr/bin/env python3
"""Fits the weights by which the engine admits memories (context-engine/src/memory_selection/weights.json).

  bench admit --repos DIR --per-question STATIC.jsonl [--answers]
  bench admit --repos DIR --minilm DIR --per-question MINILM.jsonl [--answers]
  benches/admit/fit.py --static STATIC.jsonl ... --minilm MINILM.jsonl ... [--write WEIGHTS]

For each kind of vectors two ridge-regularised logistic regressions: one over the vector of the question alone (does it sound
like one that a memory answers), and one over the features of a recalled memory, with the result of the first. A memory is
scored by weights that saw neither its repository nor its questions. The thresholds are the least probabilities that at most
3% of the questions without a fact reach in full, and 10% as a line. Where one memory is that likely, up to three are named:
the second table prices this. Needs numpy.
"""
import argparse
import json

import numpy as np

FORM_RIDGE = 2.0
RIDGE = 1.0
RECALLED = 10
FULL, LINE = 0.03, 0.10
LINES, BESIDE = 3, (0.02, 0.05, 0.1, 0.2, 1.0)
# What a memory costs that does not answer, in tokens: in full, and as a line.
COSTS = 60, 20
FORM = "form"
LEFT_OUT = ("probability", FORM)


def logistic(rows, wanted, ridge):
    """Newton's method. The last coefficient is the constant, which has no ridge."""
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 1e-9
    fitted = np.zeros(rows.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-rows @ fitted))
        gradient = rows.T @ (p - wanted) + penalty * fitted
        hessian = (rows * (p * (1 - p))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        fitted -= step
        if np.abs(step).max() < 1e-9:
            break
    return fitted


def apply(rows, fitted):
    return rows @ fitted[:-1] + fitted[-1]


class Model:
    def __init__(self, asked, kind, names):
        self.kind, self.names = kind, names
        self.form = fit_form(asked, kind)
        # The second regression learns from forms that the first had not seen, as it will be used.
        repos = sorted({one["repo"] for one in asked})
        rows, wanted = [], []
        for repo in repos:
            form = fit_form([one for one in asked if one["repo"] != repo], kind) if len(repos) > 1 else self.form
            for one in (one for one in asked if one["repo"] == repo):
                rows += self.rows(one, form)
                wanted += [float(fact == one["fact"]) for fact, _ in one["ranked"][:RECALLED]]
        rows, wanted = np.array(rows), np.array(wanted)
        self.mean, self.spread = rows.mean(0), rows.std(0) + 1e-9
        self.fitted = logistic((rows - self.mean) / self.spread, wanted, RIDGE)

    def rows(self, one, form):
        form = apply(np.array(one[self.kind]), form)
        return [[features[name] for name in self.names] + [form] for _, features in one["ranked"][:RECALLED]]

    def score(self, one):
        rows = np.array(self.rows(one, self.form)).reshape(-1, len(self.names) + 1)
        p = 1 / (1 + np.exp(-apply((rows - self.mean) / self.spread, self.fitted)))
        return list(zip(p.tolist(), (fact for fact, _ in one["ranked"])))

    def written(self, sure, likely):
        plain = self.fitted[:-1] / self.spread
        return {
            "form": [round(float(x), 4) for x in self.form[:-1]],
            "form_constant": round(float(self.form[-1]), 4),
            "weights": {name: round(float(x), 4) for name, x in zip(self.names + [FORM], plain)},
            "constant": round(float(self.fitted[-1] - plain @ self.mean), 4),
            "sure": round(sure, 4),
            "likely": round(likely, 4),
        }


def fit_form(asked, kind):
    wanted = np.array([float(one["fact"] is not None) for one in asked])
    return logistic(np.array([one[kind] for one in asked]), wanted, FORM_RIDGE)


def read(paths):
    asked = []
    for path in paths:
        with open(path) as lines:
            asked += [{**json.loads(line), "file": path} for line in lines]
    return asked


def fit(asked, kind):
    asked = [one for one in asked if one["ranked"]]
    names = sorted(asked[0]["ranked"][0][1].keys() - set(LEFT_OUT))
    scored = []
    for repo in sorted({one["repo"] for one in asked}):
        model = Model([one for one in asked if one["repo"] != repo], kind, names)
        scored += [(one, model.score(one)) for one in asked if one["repo"] == repo]
    best = sorted((max(p for p, _ in scores) for one, scores in scored if one["fact"] is None), reverse=True)
    sure, likely = (best[int(share * len(best))] for share in (FULL, LINE))
    for path in dict.fromkeys(one["file"] for one in asked):
        print(f"{kind}, {path}:", table([(one, scores) for one, scores in scored if one["file"] == path], sure, likely))
    for beside in BESIDE:
        print(f"{kind}, beside {beside}:", priced(scored, sure, likely, beside))
    print(f"{kind}: full from {sure:.3f}, a line from {likely:.3f}; reliability:", reliability(scored))
    return Model(asked, kind, names).written(sure, likely)


def table(scored, sure, likely):
    facts = [(one, scores) for one, scores in scored if one["fact"] is not None]
    others = [scores for one, scores in scored if one["fact"] is None]
    reach = lambda least: sum(any(fact == one["fact"] and p >= least for p, fact in scores) for one, scores in facts)
    wrong = lambda least: sum(any(p >= least for p, _ in scores) for scores in others)
    first = sum(max(scores)[1] == one["fact"] for one, scores in facts)
    shares = [f"{100 * count / max(of, 1):.1f}%" for count, of in (
        (reach(sure), len(facts)), (reach(likely), len(facts)), (first, len(facts)), (wrong(sure), len(others)),
        (wrong(likely), len(others)))]
    return "full {}, full or a line {}, first {}; without a fact full {}, full or a line {}".format(*shares)


def priced(scored, sure, likely, beside):
    """The questions whose fact is shown, and the tokens that each question pays for facts that do not answer."""
    reached, tokens = 0, 0
    facts = sum(one["fact"] is not None for one, _ in scored)
    for one, scores in scored:
        ordered = sorted(scores, reverse=True)
        full = [fact for p, fact in ordered if p >= sure]
        lines = [fact for p, fact in ordered if sure > p >= min(beside, likely)][:LINES]
        lines = lines if ordered[0][0] >= likely else []
        reached += one["fact"] is not None and one["fact"] in full + lines
        tokens += sum(cost * (fact != one["fact"]) for cost, shown in zip(COSTS, (full, lines)) for fact in shown)
    return f"{100 * reached / facts:.1f}% of the facts, {tokens / len(scored):.1f} wrong tokens a question"


def reliability(scored):
    pairs = [(p, fact == one["fact"]) for one, scores in scored for p, fact in scores]
    tenths = [[pair for pair in pairs if int(min(pair[0], 0.999) * 10) == tenth] for tenth in range(10)]
    mean = lambda values: sum(values) / len(values)
    return " ".join(f"{mean([p for p, _ in t]):.2f}:{mean([y for _, y in t]):.2f} ({len(t)})" for t in tenths if t)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--static", nargs="+", required=True)
    parser.add_argument("--minilm", nargs="+", required=True)
    parser.add_argument("--write")
    options = parser.parse_args()
    written = {kind: fit(read(getattr(options, kind)), kind) for kind in ("static", "minilm")}
    if options.write:
        with open(options.write, "w") as file:
            json.dump(written, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
