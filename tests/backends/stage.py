"""The real-backend stage: muninn in front of a real llama.cpp, proved end to end.

Prints one line per check and `N passed, N failed` alone on the last line. Started by `run`, which prepares the
interpreter, the binary and the network; every process started here is ended here.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import sys
import tempfile

import cache_proof
import forwarding
from checks import Checks
from children import MODEL, stand, wait_for
from fixture import QUESTIONS, git, make_repository, worktree_state
from network import raise_loopback

ASK_SECONDS = 240
# Two people's statements of which rules cannot say whether both hold.
NOTES = ["Windows builds use the msvc toolchain", "Windows builds use the gnu toolchain"]


def check_ask(checks, place):
    """`muninn ask` starts a gateway of its own, and is answered by the real model."""
    question, right_file = QUESTIONS[0]
    done = place.command("ask", question, "--json", "--max-tokens", "48", "--root", str(place.root), seconds=ASK_SECONDS)
    checks.equal("ask: exit status", done.returncode, 0)
    answer = json.loads(done.stdout)
    checks.check("ask: an answer", answer["answer"].strip(), answer)
    checks.equal("ask: answered by the backend's model", answer["model"], MODEL)
    receipt = answer["receipt"]
    checks.check("ask: context was injected", receipt["outcome"] in ("injected", "partial") and receipt["tokens"] > 0, receipt)
    checks.check("ask: milliseconds are a number", isinstance(receipt["ms"], (int, float)), receipt)
    whole = all({"kind", "source", "tokens", "score"} <= set(item) for item in receipt["items"])
    kinds = {item["kind"] for item in receipt["items"]}
    checks.check("ask: items name kind, source, tokens and score", whole and kinds <= {"code", "memory", "knowledge"}, receipt)
    sources = [item["source"] for item in receipt["items"]]
    checks.check("ask: the right file is in the receipt", any(s.split(":")[0] == right_file for s in sources), sources)
    # Once the answer is learned from, the stored receipt also says what the answer cites.
    stored = place.receipt(answer["request_id"])["items"]
    marks = [item.pop("used", None) for item in stored] + [item.pop("edited", None) for item in stored]
    checks.equal("ask: why shows the same receipt", stored, receipt["items"])
    checks.check("ask: the answer's citations are marked", all(isinstance(mark, bool) for mark in marks), marks)


def commit(place, message):
    git(place.root, "add", "-A")
    git(place.root, "commit", "-q", "-m", message)


def check_reconciling(checks, place):
    """A real model is asked about an undecided pair. It is too small to judge: what counts is that nothing is lost."""
    checks.equal("reconcile: initialised", place.command("init", "--memory", "repo", "--root", str(place.root)).returncode, 0)
    commit(place, "init")
    for number, note in enumerate(NOTES):
        git(place.root, "checkout", "-q", "-b", f"note-{number}", "main")
        done = place.command("remember", note, "--root", str(place.root))
        checks.equal(f"reconcile: note {number} is remembered", done.returncode, 0)
        commit(place, note)
    git(place.root, "checkout", "-q", "main")
    for number in range(len(NOTES)):
        git(place.root, "merge", "-q", "--no-edit", f"note-{number}")
    done = place.command("reconcile", "--json", "--root", str(place.root), seconds=ASK_SECONDS)
    checks.equal("reconcile: exit status", done.returncode, 0)
    asked = json.loads(done.stdout)["asked"]
    checks.check("reconcile: the model was asked about the pair", asked["open"] == 1 and asked["input"] > 0, asked)
    print(f"     the model's part: {json.dumps(asked)}")
    main = [json.loads(line) for line in (place.root / ".muninn/memory/main.jsonl").read_text().splitlines()]
    checks.equal("reconcile: both notes are in main", sorted(r["text"] for r in main if r["type"] == "learning"), sorted(NOTES))
    decided = [record for record in main if record["type"] != "learning"]
    checks.check("reconcile: a decision names the model or rules", all(
        record["by"] in ("rules", f"model:llama/{MODEL}") for record in decided), decided)


def check_after(checks, place, before, root):
    """What must be true once everything has been asked."""
    _, path, body, _, _ = forwarding.ROUTES[0]
    identifier = place.gateway.post(path, forwarding.COMMON | body).headers["x-muninn-request-id"]
    named = wait_for("a log line with the request's id", lambda: identifier in place.log(), 10)
    checks.check("the log names the request to ask why about", named)
    log = place.log()
    checks.check("the log holds no prompt", not any(question in log for question, _ in QUESTIONS)
                 and forwarding.QUESTION not in log)
    checks.equal("SIGTERM drains the gateway", place.stop_gateway(), 0)
    checks.equal("nothing was written in the worktree", worktree_state(root), before)


def run_stage(checks, work, muninn):
    """All groups, in the order in which a fault is easiest to read."""
    root = make_repository(work / "kelpline")
    before = worktree_state(root)
    common = {"work": work, "root": root, "muninn": muninn}
    with stand("forwarding", slots=2, **common) as place:
        for name, group in [
            ("surface", forwarding.check_surface), ("answers", forwarding.check_answers),
            ("context off", forwarding.check_switches), ("passed on", forwarding.check_passed_on),
            ("leaving", forwarding.check_leaving), ("ask", check_ask),
        ]:
            with checks.group(name, place.log):
                group(checks, place)
        with checks.group("afterwards", place.log):
            check_after(checks, place, before, root)
    notes = common | {"root": make_repository(work / "notes")}
    model = f'[memory.reconciler]\nbackend = "llama"\nmodel = "{MODEL}"\n'
    with stand("reconciling", more=model, **notes) as place, checks.group("reconciling", place.log):
        check_reconciling(checks, place)
    cache_proof.prove(checks, **common)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muninn", required=True, help="the binary under test")
    parser.add_argument("--own-network", action="store_true", help="this is a fresh network namespace: bring up loopback")
    args = parser.parse_args()
    # `run` passes a signal on; as an exception it unwinds through the stands and ends their children.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if args.own_network:
        raise_loopback()
    checks = Checks()
    interfaces = [name for _, name in socket.if_nameindex()]
    print(f"network: {', '.join(interfaces)}{' only' if interfaces == ['lo'] else ' (not isolated)'}", flush=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="muninn-backends-"))
    try:
        with checks.group("stage"):
            run_stage(checks, work, args.muninn)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return checks.summary()


if __name__ == "__main__":
    sys.exit(main())
