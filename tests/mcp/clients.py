"""Real clients as clients of Muninn's MCP server, on the standard streams and over HTTP, with a scripted model.

Each discovers the server, calls a tool that reads and one that writes, and gets bounded results. Prints a row for each
check's client, version and door, and `N passed, N failed` alone on the last line.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import scripted
from client_claude import QUIET, ClaudeCode
from client_codex import Codex, configuration
from client_opencode import PROVIDERS, OpenCode
from programs import package_version, run

QUESTION = "How does refill fill the bucket?"
FACT = "Buckets never overflow: refill stops at the capacity."
# What clients cut tool results to, in characters.
MOST = 40_000


class Claude:
    """Claude Code with a configuration file for its servers."""

    def __init__(self, installs, folder, model):
        self.name, self.model = "Claude Code", model
        self.version = package_version(installs / folder, "@anthropic-ai/claude-code")
        self.binary = installs / folder / "node_modules" / ".bin" / "claude"
        self.is_side = ClaudeCode.is_side

    @staticmethod
    def tool(name):
        return f"mcp__muninn__{name}"

    def ask(self, upstream, server, home, root):
        file = home / "mcp.json"
        http = {"type": "http", "url": server.get("url")}
        local = {"command": server.get("command"), "args": ["mcp"]}
        file.write_text(json.dumps({"mcpServers": {"muninn": http if "url" in server else local}}))
        command = [self.binary, "-p", QUESTION, "--output-format", "json", "--model", self.model, "--mcp-config", file,
                   "--strict-mcp-config", "--allowedTools", "mcp__muninn__*"]
        return run(command, home=home, cwd=root,
                   environment=QUIET | {"ANTHROPIC_BASE_URL": upstream.url, "ANTHROPIC_API_KEY": "dummy"})


class CodexServer:
    """Codex with its configuration file."""

    def __init__(self, installs):
        self.name = "Codex"
        self.version = package_version(installs / "codex", "@openai/codex")
        self.binary = installs / "codex" / "node_modules" / ".bin" / "codex"
        self.is_side = Codex.is_side

    @staticmethod
    def tool(name):
        return f"mcp__muninn/{name}"

    def ask(self, upstream, server, home, root):
        folder = home / ".codex"
        folder.mkdir()
        lines = configuration(folder, upstream.url, "gpt-5", False, False, False) + "\n[mcp_servers.muninn]\n"
        lines += f'url = "{server["url"]}"\n' if "url" in server else f'command = "{server["command"]}"\nargs = ["mcp"]\n'
        (folder / "config.toml").write_text(lines)
        command = [self.binary, "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                   QUESTION]
        return run(command, home=home, cwd=root, environment={"MUNINN_DUMMY_KEY": "dummy", "CODEX_HOME": str(folder)})


class OpenCodeServer:
    """opencode with a configuration file."""

    def __init__(self, installs):
        self.name = "opencode"
        self.version = package_version(installs / "opencode", "opencode-ai")
        self.binary = installs / "opencode" / "node_modules" / ".bin" / "opencode"
        self.is_side = OpenCode.is_side

    @staticmethod
    def tool(name):
        return f"muninn_{name}"

    def ask(self, upstream, server, home, root):
        remote = {"type": "remote", "url": server.get("url")}
        local = {"type": "local", "command": [server.get("command"), "mcp"], "enabled": True}
        model = {"name": "scripted", "limit": {"context": 128000, "output": 4096}}
        provider = {"npm": PROVIDERS["chat"], "name": "muninn",
                    "options": {"baseURL": f"{upstream.url}/v1", "apiKey": "dummy"}, "models": {"scripted": model}}
        file = home / "opencode.json"
        file.write_text(json.dumps({"autoupdate": False, "share": "disabled", "provider": {"muninn": provider},
                                    "mcp": {"muninn": remote if "url" in server else local}}))
        environment = {"OPENCODE_CONFIG": str(file), "OPENCODE_DISABLE_AUTOUPDATE": "1",
                       "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                       "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}
        command = [self.binary, "run", "--format", "json", "-m", "muninn/scripted", QUESTION]
        return run(command, home=home, cwd=root, environment=environment)


def texts(value):
    """All texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def results(value):
    """The results of tools in a request of any of the three formats, as JSON, for a failed check's text."""
    if isinstance(value, dict) and (value.get("type") in ("function_call_output", "tool_result")
                                    or value.get("role") == "tool"):
        return [json.dumps(value)[-600:]]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [result for part in parts for result in results(part)]


def ours(muninn, home, root, *arguments):
    """The output of a command of Muninn in a client's private home."""
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run([muninn, *arguments], cwd=root, env=environment, capture_output=True, text=True,
                          check=False).stdout


def check(client, door, server, muninn, root):
    """One client at one door: the failed requirements."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        acts = [scripted.Call(client.tool("find_context"), {"question": QUESTION}),
                scripted.Call(client.tool("remember"), {"text": f"{FACT} ({client.name}, {door})"}),
                scripted.Say("done")]
        upstream = scripted.Upstream(client.is_side, acts)
        status, stdout, stderr = client.ask(upstream, server, home, root)
        asked = [request.json for request in upstream.conversation]
        if status != 0:
            failed.append(f"exit status {status}: {(stderr or stdout)[-300:]}")
        if len(asked) < 3:
            return [*failed, f"{len(asked)} requests, 3 are needed: {(stderr or stdout)[-300:]}"]
        if "find_context" not in json.dumps(asked[0]):
            failed.append("the first request does not have the tool")
        found = [text for text in texts(asked[1]) if "receipt 01" in text]
        if not any("pub fn refill" in text for text in found):
            failed.append(f"the result of find_context is {found or results(asked[1])}")
        if any(len(text) > MOST for text in found):
            failed.append("the result of find_context is too long")
        if not any("redacted" in text and "01" in text for text in texts(asked[2])):
            failed.append(f"the result of remember is {results(asked[2])}")
        # On the standard streams the client's private home has the memory; over HTTP, the gateway's.
        if "url" not in server:
            recalled = ours(muninn, home, root, "recall", FACT, "--json")
            memories = json.loads(recalled or "{}").get("memories", [])
            if not any(f"({client.name}, {door})" in memory["text"] for memory in memories):
                failed.append(f"muninn recall finds {recalled[:200]}")
            if (stopped := ours(muninn, home, root, "daemon", "stop")) != "stopped\n":
                failed.append(f"the daemon that answers the calls: {stopped}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muninn", required=True)
    parser.add_argument("--installs", required=True, type=pathlib.Path)
    parser.add_argument("--url", required=True, help="the endpoint of a running gateway")
    parser.add_argument("--root", required=True, help="its repository")
    args = parser.parse_args()
    clients = [Claude(args.installs, "claude-2.1.329", "claude-sonnet-4-5"),
               Claude(args.installs, "claude-2.1.197", "claude-sonnet-4-5"),
               CodexServer(args.installs), OpenCodeServer(args.installs)]
    passed = failures = 0
    for client in clients:
        for door, server in (("MCP stdio", {"command": args.muninn}), ("MCP HTTP", {"url": args.url})):
            failed = check(client, door, server, args.muninn, args.root)
            print(f"{'FAIL' if failed else 'ok':5} {client.name} {client.version}, {door}: find_context, remember")
            for reason in failed:
                print(f"      {reason}")
            passed, failures = passed + (not failed), failures + bool(failed)
    print(f"{passed} passed, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
