"""Real clients with Muninn's hooks, with and without its gateway, before a scripted model.

Each client asks a few questions in one session. Prints a row for each client, version, door and scenario, and
`N passed, N failed` alone on the last line.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import types

import scripted
from client_claude import QUIET, ClaudeCode
from client_codex import Codex
from client_opencode import OpenCode
from invariants import blocks, extends
from programs import run

FILES = {
    "src/bucket.rs": "/// Refills the bucket of the rate limiter.\npub fn refill(bucket: &mut Bucket) {\n    bucket.tokens += 1;\n}\n",
    "src/invoice.rs": "/// Parses an invoice from one line.\npub fn parse_invoice(line: &str) -> Invoice {\n    Invoice::new(line)\n}\n",
    "src/lib.rs": "mod bucket;\nmod invoice;\n",
}
ON_TOPIC = "How does refill fill the bucket of the rate limiter?"
OFF_TOPIC = "Write a haiku about autumn leaves, please."
SECOND = "Where is parse_invoice, and what does it return?"
PROMPTS = [ON_TOPIC, OFF_TOPIC, SECOND]
SIX = [*PROMPTS, "Thanks.", "Write another haiku, about snow.", "And one about the sea."]
PREAMBLE = "This repository has Muninn:"
# Without a memory there is no preamble.
NOTE = "Invoices are rounded to the cent."
# Patience for a debug build on a busy machine.
CONFIGURATION = "[context]\ndeadline_ms = 5000\n[hooks]\ndeadline_ms = 4000\n"
# Fields of records that differ from session to session.
OWN = ("id", "ts", "session", "commit")


class Session:
    """One session of a client in a home and a repository of its own."""

    def __init__(self, muninn, client, folder, doors):
        self.muninn, self.client, self.doors, self.failed = muninn, client, doors, []
        self.home, self.root = folder / "home", folder / "demo"
        self.home.mkdir()
        (self.home / ".config" / "muninn").mkdir(parents=True)
        # opencode installs the types of plugins from npm at its start; without a network it would retry for a minute.
        (self.home / ".npmrc").write_text("fetch-retries=0\n")
        self.environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
        for path, text in FILES.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.git("init", "-q")
        self.configure("")
        self.run("init", "--memory", "repo")
        self.run("remember", NOTE)
        self.git("add", "-A")
        self.git("commit", "-qm", "demo")

    def git(self, *arguments):
        who = ["-c", "user.name=demo", "-c", "user.email=demo@example.com"]
        subprocess.run(["git", *who, *arguments], cwd=self.root, env=self.environment, check=True)

    def configure(self, backend):
        (self.home / ".config" / "muninn" / "muninn.toml").write_text(CONFIGURATION + backend)

    def run(self, *arguments):
        """The output of a command of Muninn, which must succeed."""
        done = subprocess.run([self.muninn, *arguments], cwd=self.root, env=self.environment, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            self.failed.append(f"muninn {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def add_plugin(self, checkout):
        """Installs the plugin from the marketplace of a checkout, by the client's own command."""
        for arguments in (["marketplace", "add", str(checkout)], ["install", "muninn@muninn"]):
            status, stdout, stderr = run([self.client.binary, "plugin", *arguments], home=self.home, cwd=self.root,
                                         environment=QUIET)
            self.expect(f"claude plugin {arguments[0]}", status == 0, stdout + stderr)

    def expect(self, what, is_so, found=""):
        if not is_so:
            self.failed.append(f"{what}: {found}"[:900])

    def log_says(self, name, words):
        """Waits for words in a log of the state directory."""
        file = self.home / ".local" / "state" / "muninn" / name
        for _ in range(400):
            if file.exists() and words in file.read_text():
                return
            time.sleep(0.05)
        self.failed.append(f"{name} lacks {words!r}")

    def converse(self, prompts):
        """Asks the prompts; the bodies of the first request of each."""
        acts = [scripted.Call(*tool(self.client, self.root)), *[scripted.Say(f"Answer {n}.") for n in range(len(prompts))]]
        upstream = scripted.Upstream(self.client.is_side, acts)
        gateway = None
        if "gateway" in self.doors:
            dialect = {"chat": "chat", "messages": "messages", "responses": "responses"}[self.client.wire]
            self.configure(f'[[backends]]\nname = "scripted"\nurl = "{upstream.url}"\ndialect = "{dialect}"\n')
            gateway = self.serve()
        elif "hook" in self.doors:
            self.run("daemon", "start")
            self.log_says("daemon.log", "index ready")
        try:
            url = gateway.url if gateway else upstream.url
            place = types.SimpleNamespace(url=url, home=self.home, root=self.root)
            more = {"hooks": True} if isinstance(self.client, Codex) else {}
            outcome = self.client.converse(place, prompts, **more)
            self.expect("the client ends well", outcome.status == 0 and not outcome.error, outcome)
        finally:
            upstream.close()
            if gateway:
                gateway.process.terminate()
                gateway.process.wait()
            elif "hook" in self.doors:
                self.expect("daemon stop", self.run("daemon", "stop") == "stopped\n")
        return upstream.conversation

    def serve(self):
        """A gateway with an index."""
        log = (self.home / "gateway.log").open("w")
        process = subprocess.Popen([self.muninn, "serve", "--listen", "127.0.0.1:0"], cwd=self.root,
                                   env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True)
        url = process.stdout.readline().removeprefix("listening on ").strip()
        while "index ready" not in (self.home / "gateway.log").read_text() and process.poll() is None:
            time.sleep(0.05)
        return types.SimpleNamespace(process=process, url=url)

    def records(self):
        """What was learned, without what names the session."""
        lines = [line for path in (self.root / ".muninn" / "memory" / "sessions").glob("*.jsonl")
                 for line in path.read_text().splitlines() if NOTE not in line]
        records = [json.loads(line) for line in lines]
        return sorted(json.dumps({k: v for k, v in record.items() if k not in OWN}, sort_keys=True) for record in records)


def tool(client, root):
    """The client's own tool that reads a file."""
    name, arguments = client.tool(root)
    return name, json.loads(json.dumps(arguments).replace("desk/curve.py", "src/bucket.rs"))


def entries(request):
    return request.format.entries(request.json)


def check_blocks(session, requests, with_gateway):
    """The blocks of a session: the preamble once, a block for each question about the repository, none twice."""
    # Codex puts a hook's text into a message of a developer, so the whole body counts.
    found = blocks(requests[-1].json)
    session.expect("one preamble", sum(PREAMBLE in block for block in found) == 1, found)
    session.expect("no block twice", len(set(found)) == len(found), found)
    # A hook gives the preamble apart from the first block.
    wanted = 2 if with_gateway else 3
    session.expect(f"{wanted} blocks", len(found) == wanted, found)
    session.expect("the first question's file", any("src/bucket.rs" in block for block in found), found)
    session.expect("the last question's file", "src/invoice.rs" in found[-1] if found else False, found)
    for earlier, later in zip(requests, requests[1:]):
        session.expect("the prompts extend each other", extends(entries(later), entries(earlier)),
                       [(a, b) for a, b in zip(entries(earlier), entries(later)) if a != b][:1])


def check_client(args, client, report):
    """All scenarios of one client."""
    records = {}
    for doors in (("hook",), ("hook", "gateway")):
        with tempfile.TemporaryDirectory() as folder:
            session = Session(args.muninn, client, pathlib.Path(folder), doors)
            session.run("install", installed(client), "--with", "hooks", "--yes")
            requests = session.converse(PROMPTS)
            session.expect("requests", len(requests) >= 4, len(requests))
            if len(requests) >= 4:
                check_blocks(session, requests, "gateway" in doors)
            records[doors] = session.records()
            session.expect("something was learned", records[doors], session.home.name)
            report(client, " + ".join(doors), "context, preamble, off-topic, learning", session.failed)
    failed = [] if len({*map(tuple, records.values())}) == 1 else [f"{doors}: {found}" for doors, found in records.items()]
    report(client, "hook = hook + gateway", "the same records", failed)
    if isinstance(client, ClaudeCode):
        check_six_turns(args, client, report)


def check_six_turns(args, client, report):
    """With the hooks of the plugin, prompts extend each other wherever they do without hooks."""
    pairs = {}
    for doors in ((), ("hook",)):
        with tempfile.TemporaryDirectory() as folder:
            session = Session(args.muninn, client, pathlib.Path(folder), doors)
            if doors:
                session.add_plugin(args.checkout)
            requests = session.converse(SIX)
            if doors:
                check_blocks(session, requests, with_gateway=False)
            pairs[doors] = [extends(entries(later), entries(earlier)) for earlier, later in zip(requests, requests[1:])]
            failed = session.failed
    without, hooked = pairs.values()
    if len(without) != len(hooked) or len(without) < 6:
        failed.append(f"{len(without)} and {len(hooked)} pairs")
    failed += [f"pair {n} no longer extends" for n, (a, b) in enumerate(zip(without, hooked)) if a and not b]
    report(client, "hook of the plugin", f"six turns: {sum(hooked)} pairs of prompts extend each other, {sum(without)} without hooks", failed)


def installed(client):
    return {"ClaudeCode": "claude-code", "Codex": "codex", "OpenCode": "opencode"}[type(client).__name__]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muninn", required=True)
    parser.add_argument("--installs", required=True, type=pathlib.Path)
    parser.add_argument("--checkout", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="", help="a part of a client's name")
    args = parser.parse_args()
    assert shutil.which("git")
    # The plugin runs the program in PATH.
    os.environ["PATH"] = f"{pathlib.Path(args.muninn).parent}:{os.environ['PATH']}"
    clients = [ClaudeCode(args.installs, "claude-2.1.329", "claude-sonnet-4-5", compacts=True),
               ClaudeCode(args.installs, "claude-2.1.197", "claude-sonnet-4-5", compacts=False),
               Codex(args.installs), OpenCode(args.installs)]
    passed = failures = 0

    def report(client, door, scenario, failed):
        nonlocal passed, failures
        print(f"{'FAIL' if failed else 'ok':5} {client.name} {client.version}, {door}: {scenario}", flush=True)
        for reason in failed:
            print(f"      {reason}")
        passed, failures = passed + (not failed), failures + bool(failed)

    for client in clients:
        if args.only and args.only not in client.name:
            continue
        check_client(args, client, report)
    print(f"{passed} passed, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
