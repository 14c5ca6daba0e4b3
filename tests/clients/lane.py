"""One client through all of its scenarios, in a network namespace of its own.

Started by stage.py; prints what failed, and a line `ROW {json}` per scenario and `SUM {json}` at the end, from which
the stage makes the table. Everything started here is ended here, and where there is a process namespace, dies with it.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from checks import Checks
from children import KNOWN_WINDOW, MODEL, start_llama
from fixture import QUESTIONS, make_repository, worktree_state
from network import raise_loopback

import cached_tokens
import invariants
import lanes
import learned
import noted
import scripted
import two_gateways
from place import place
from scenarios import ANSWERS, SCENARIOS
from tap import Tap

PROOFS = {"two-gateways": two_gateways.prove, "cached-tokens": cached_tokens.prove, "learned": learned.prove,
          "noted": noted.prove}
FORMAT_OF = {module.NAME: module for module in scripted.FORMATS.values()}
WINDOW = 128000


@dataclasses.dataclass
class Lane:
    """What the scenarios of a lane share. `llama` is llama.cpp's address, None until it is needed."""

    work: pathlib.Path
    root: pathlib.Path
    muninn: str
    checks: Checks
    children: contextlib.ExitStack
    endpoint: object = None

    def llama(self):
        """The lane's one llama.cpp."""
        if self.endpoint is None:
            directory = self.work / "llama"
            directory.mkdir(exist_ok=True)
            self.endpoint = start_llama(self.children, directory, 1, "--one-sentence")
        return self.endpoint


@dataclasses.dataclass
class Seen:
    """All that a scenario left behind, for its judge."""

    outcome: object
    client_fails: bool
    client_format: object
    reached: list
    sides: list
    exchanges: list
    main_exchanges: list

    @property
    def in_order(self):
        """Main and side requests as they arrived upstream."""
        return sorted([*self.reached, *self.sides], key=lambda request: request.at)


@contextlib.contextmanager
def table_row(checks, client, backend, scenario, log=None):
    """One row of the table around what it stands for; gives the label of its checks."""
    before, began = checks.failed, time.monotonic()
    label = f"{client.name} {client.version}, {backend}, {scenario}"
    with checks.group(label, log):
        yield label
    shown = {"client": client.name, "version": client.version, "backend": backend, "scenario": scenario,
             "ok": checks.failed == before, "seconds": round(time.monotonic() - began, 1)}
    print("ROW " + json.dumps(shown), flush=True)


def run_row(lane, row):
    """One client through one scenario."""
    logs = []
    with table_row(lane.checks, row.client, row.backend, row.scenario, lambda: "\n".join(log() for log in logs)) as label:
        (run_llama if row.llama else run_scripted)(lane, row, label, logs)


def run_scripted(lane, row, label, logs):
    """A scenario against the scripted upstream."""
    scenario = SCENARIOS[row.scenario]
    upstream = scripted.Upstream(row.client.is_side, scenario.acts(row.client, lane.root, row.wire))
    lane.children.callback(upstream.close)
    with place(label, lane=lane, backend=upstream.url, dialect=row.dialect, model=scripted.MODEL, window=WINDOW) as where:
        logs.append(where.stand.log)
        prompts = [question for question, _ in QUESTIONS[:scenario.prompts]]
        fails = scenario.fails(row.client)
        if fails:
            prompts = prompts[:1]
        outcome = row.client.converse(where, prompts, stream=scenario.stream, **scenario.options)
        judge(lane, row, label, where, outcome, fails, upstream.conversation, upstream.sides, scenario, prompts)


def run_llama(lane, row, label, logs):
    """A scenario against llama.cpp, with a second tap in place of a record."""
    scenario = SCENARIOS[row.scenario]
    tap = Tap(lane.llama().address)
    lane.children.callback(tap.close)
    with place(label, lane=lane, backend=tap.url, dialect=row.dialect, model=MODEL, window=KNOWN_WINDOW) as where:
        logs.append(where.stand.log)
        prompts = [question for question, _ in QUESTIONS[:scenario.prompts]]
        outcome = row.client.converse(where, prompts, stream=scenario.stream, small=True, model=MODEL)
        requests = [exchange.request for exchange in tap.exchanges if exchange.request.format and exchange.request.method == "POST"]
        for request in requests:
            request.side = row.client.is_side(request)
        reached = [request for request in requests if not request.side]
        judge(lane, row, label, where, outcome, False, reached, [r for r in requests if r.side], scenario, prompts)


def judge(lane, row, label, where, outcome, fails, reached, sides, scenario, prompts):
    """What every scenario has to show, then what is special about it."""
    checks = lane.checks
    exchanges = [e for e in where.exchanges if not row.client.is_side(e.request)]
    seen = Seen(outcome, fails, FORMAT_OF[row.client.wire], reached, sides, where.tap.exchanges, exchanges)
    if fails:
        checks.check(f"{label}: ends with an error", outcome.status not in (0, None) and outcome.error, outcome)
    else:
        checks.equal(f"{label}: exit status ({outcome.error[:200]})", outcome.status, 0)
        wanted = [None] * len(prompts) if row.llama else ANSWERS[:len(prompts)]
        whole = len(outcome.answers) == len(prompts) and all(a.strip() and (w is None or w in a)
                                                             for a, w in zip(outcome.answers, wanted))
        checks.check(f"{label}: the model's answers came out", whole, outcome.answers)
    checks.check(f"{label}: the upstream was asked in its own format",
                 reached and all(request.format.NAME == row.wire for request in reached), [r.path for r in reached])
    pairs = paired(exchanges, reached)
    checks.equal(f"{label}: every prompt upstream is a client's", len(pairs), len(reached))
    compared = invariants.check(checks, label, pairs, len(prompts), row.converted)
    if len(reached) > 1 and not fails:
        checks.check(f"{label}: prompts that extend each other were compared", compared > 0, [len(r.body) for r in reached])
    outcomes = [exchange.headers.get("x-muninn-context") for exchange in exchanges if exchange.status]
    checks.check(f"{label}: x-muninn-context", set(outcomes) <= {"injected", "replayed"} and outcomes[:1] == ["injected"], outcomes)
    if not (scenario.compacts and len(prompts) > 2):
        checks.equal(f"{label}: one injection per question", outcomes.count("injected"), len(prompts))
        found = invariants.blocks(reached[-1].format.entries(reached[-1].json)) if reached else []
        checks.equal(f"{label}: one block per question in the last prompt", len(found), len(prompts))
    judge_receipt(checks, label, where, exchanges)
    if scenario.extra:
        scenario.extra(checks, label, seen)


def judge_receipt(checks, label, where, exchanges):
    """`muninn why` names the right file for the first question."""
    identifier = exchanges[0].headers.get("x-muninn-request-id") if exchanges else None
    receipt = where.stand.receipt(identifier) if identifier else {"items": []}
    sources = [item["source"].split(":")[0] for item in receipt["items"]]
    checks.check(f"{label}: why names the right file", QUESTIONS[0][1] in sources, sources)


def paired(exchanges, reached):
    """Each prompt upstream with the client's request that it came from: the latest one that was asked before it."""
    pairs = []
    for request in reached:
        asked = [exchange.request for exchange in exchanges if exchange.request.at <= request.at]
        if asked:
            pairs.append((asked[-1], request))
    return pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lane", required=True)
    parser.add_argument("--muninn", required=True)
    parser.add_argument("--installs", required=True, type=pathlib.Path)
    parser.add_argument("--converted", action="store_true")
    parser.add_argument("--own-network", action="store_true")
    parser.add_argument("--only", default="", help="a part of the rows: text that the backend or the scenario contains")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args.installs = args.installs.resolve()
    if args.own_network:
        raise_loopback()
    checks = Checks(quiet=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="lane-"))
    os.environ["TMPDIR"] = str(work)
    try:
        with contextlib.ExitStack() as children:
            lane = Lane(work, make_repository(work / "kelpline"), args.muninn, checks, children)
            before = worktree_state(lane.root)
            if args.lane in PROOFS:
                PROOFS[args.lane](lane, args.installs, functools.partial(table_row, checks))
            for row in lanes.rows(args.lane, args.installs, args.converted):
                if args.only in f"{row.backend} {row.scenario}":
                    run_row(lane, row)
            checks.equal(f"{args.lane}: nothing was written in the worktree", worktree_state(lane.root), before)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("SUM " + json.dumps({"passed": checks.passed, "failed": checks.failed}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
