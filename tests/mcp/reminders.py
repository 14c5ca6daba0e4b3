"""Reminders that run real clients, with a scripted model behind a gateway.

A one-shot two seconds ahead runs `claude -p`, `codex exec` or `opencode run` through Muninn's own gateway, and its answer is in
the journal. A client that hangs is ended by its timeout with all that it started; one that is missing leaves a line in the inbox.

Prints a transcript of each, and `N passed, N failed` alone on the last line.
"""

import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import checks
import client_codex
import scripted
from client_claude import QUIET, ClaudeCode
from client_opencode import PROVIDERS, OpenCode
from programs import package_version

PROMPT = "Count the open $(pull) requests; `now` --help"
ANSWER = "Three are open."
# The longest wait for what follows from a reminder: two seconds, a start of the client, and a busy machine.
PATIENCE = 90


def no_settings(desk, url):
    """Claude Code finds the gateway by the variables that a run gets."""
    return QUIET


def codex_settings(desk, url):
    folder = desk.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(client_codex.configuration(folder, url, "gpt-5", False, False, False))
    return {"MUNINN_DUMMY_KEY": "dummy"}


def opencode_settings(desk, url):
    config = desk.home / "opencode.json"
    options = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
    limit = {"context": 128000, "output": 4096}
    provider = {"npm": PROVIDERS["chat"], "name": "muninn", "options": options,
                "models": {"scripted": {"name": "scripted", "limit": limit}}}
    config.write_text(json.dumps({"autoupdate": False, "share": "disabled", "provider": {"muninn": provider}}))
    return {"OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}


@dataclasses.dataclass(frozen=True)
class Agent:
    """A client: the name of its program and its folder, its format and model, and what it needs to find a gateway."""

    name: str
    folder: str
    package: str
    wire: str
    model: str
    is_side: object
    settings: object


CLAUDE = Agent("claude", "claude-2.1.329", "@anthropic-ai/claude-code", "messages", "claude-sonnet-4-5", ClaudeCode.is_side,
               no_settings)
CODEX = Agent("codex", "codex", "@openai/codex", "responses", "gpt-5", client_codex.Codex.is_side, codex_settings)
OPENCODE = Agent("opencode", "opencode", "opencode-ai", "chat", "muninn/scripted", OpenCode.is_side, opencode_settings)


class Desk:
    """A home with a personal directory and a gateway, whose agent is a real client."""

    def __init__(self, args, folder, acts, agent, program=None):
        self.muninn, self.folder, self.home, self.agent = args.muninn, folder, folder / "home", agent
        self.upstream = scripted.Upstream(agent.is_side, acts)
        client = args.installs / agent.folder / "node_modules" / ".bin" / agent.name
        settings = self.home / ".config" / "muninn" / "muninn.toml"
        settings.parent.mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        variables = agent.settings(self, f"http://{address}") | {"ANTHROPIC_API_KEY": "dummy"}
        settings.write_text(
            f'listen = "{address}"\n[[backends]]\nname = "scripted"\nurl = "{self.upstream.url}"\ndialect = "{agent.wire}"\n'
            f'[personal.agents.{agent.name}]\nenabled = true\nprogram = {json.dumps(str(program or client))}\n'
            f'model = "{agent.model}"\nenvironment = {json.dumps([*variables])}\n'
        )
        self.environment = variables | {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
                                        "MUNINN_DISCOVER": "0"}
        self.run("personal", "init", "--name", "Ann")
        self.gateway = subprocess.Popen([self.muninn, "serve"], cwd=self.home, text=True, env=self.environment,
                                        stdout=subprocess.PIPE, stderr=open(folder / "log", "w"))
        self.gateway.stdout.readline()

    def run(self, *arguments):
        done = subprocess.run([self.muninn, *arguments], cwd=self.home, env=self.environment, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def remind(self, *more):
        return self.run("remind", "once", "review", "+2s", "Review", PROMPT, "--action", "agent", "--agent",
                        self.agent.name, *more)

    def root(self):
        return pathlib.Path(json.loads(self.run("personal", "context", "--json"))["paths"]["root"])

    def inbox(self):
        return (self.root() / "state" / "inbox.md").read_text()

    def agents(self):
        """The processes that a run of the reminder has started and that still live."""
        found = []
        for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if b"MUNINN_REMINDER=review" in environment.read_bytes() and str(self.home).encode() in environment.read_bytes():
                    found.append(environment.parent.name)
            except OSError:
                pass
        return found

    def wait(self, what, ask):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if found := ask():
                return found
            time.sleep(0.1)
        raise AssertionError(f"{what} did not come; the gateway said: {(self.folder / 'log').read_text()[-500:]}")

    def close(self):
        self.gateway.terminate()
        self.gateway.wait()
        self.upstream.close()


def answers(args, folder, agent):
    desk = Desk(args, folder, [scripted.Say(ANSWER)], agent)
    try:
        transcript = desk.remind().splitlines()
        desk.wait("the result", lambda: "the agent" in desk.inbox() or json.loads(desk.run("personal", "recent", "--json")))
        assert "the agent" not in desk.inbox(), desk.inbox()
        entry = json.loads(desk.run("personal", "recent", "--json"))[0]
        transcript.append(f"journal: {json.dumps(entry)}")
        failed = []
        if (entry["content"], entry["metadata"]) != (f"Review: {ANSWER}", {"source": "cron", "intent": "review"}):
            failed.append(f"the entry: {entry}")
        asked = desk.upstream.conversation
        if len(asked) != 1 or PROMPT not in json.dumps(asked[0].json, ensure_ascii=False):
            failed.append(f"{len(asked)} requests reached the model, or without the payload")
        status = json.loads(subprocess.run([desk.muninn, "daemon", "status", "--json"], cwd=desk.home, env=desk.environment,
                                           capture_output=True, text=True, check=False).stdout)
        transcript.append(f"daemon status: {json.dumps(status['reminders'])}")
        if status["reminders"][0]["last"]["result"] != "the agent answered; see the journal":
            failed.append("the status")
        if desk.agents():
            failed.append(f"left behind: {desk.agents()}")
        # That the gateway saw the run is on its receipt.
        receipt = json.loads(desk.run("why", "--last", "--json"))
        transcript.append(f"receipt: {receipt['outcome']} for {receipt['first_words']!r}")
        return failed, transcript
    finally:
        desk.close()


def hangs(args, folder, agent):
    desk = Desk(args, folder, [scripted.Silence(600, "late")], agent)
    try:
        transcript = desk.remind("--timeout-seconds", "5").splitlines()
        desk.wait("the request", lambda: desk.upstream.conversation)
        running = desk.agents()
        line = desk.wait("the line", lambda: "the agent failed" in desk.inbox() and desk.inbox().splitlines()[-1])
        transcript += [f"processes while it hangs: {len(running)}", f"inbox: {line}"]
        failed = []
        if not running:
            failed.append("no process of the client was seen")
        if "it did not end within 5 s" not in line or desk.agents():
            failed.append(f"{line}; left behind: {desk.agents()}")
        return failed, transcript
    finally:
        desk.close()


def missing(args, folder, agent):
    desk = Desk(args, folder, [], agent, program=folder / "no" / "claude")
    try:
        transcript = desk.remind().splitlines()
        line = desk.wait("the line", lambda: "the agent failed" in desk.inbox() and desk.inbox().splitlines()[-1])
        transcript.append(f"inbox: {line}")
        return [] if "there is no program" in line else [line], transcript
    finally:
        desk.close()


def run_check(args, check, agent):
    """A check in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return check(args, pathlib.Path(folder), agent)


def main():
    args = checks.arguments()
    rows = [("its answer is in the journal", answers, agent) for agent in (CLAUDE, CODEX, OPENCODE)]
    rows += [("it hangs", hangs, CLAUDE), ("it is missing", missing, CLAUDE)]
    version = {agent: package_version(args.installs / agent.folder, agent.package) for _, _, agent in rows}
    checks.report((f"a reminder runs {agent.name} {version[agent]}: {name}",
                   lambda check=check, agent=agent: run_check(args, check, agent)) for name, check, agent in rows)


if __name__ == "__main__":
    main()
