"""`muninn install` and `muninn uninstall` with the real clients, and the plugin from a local marketplace.

Each client is connected by its own command where it has one, and disconnected: the files must be the same bytes as before.
Then it is connected again, must report the server itself, and is disconnected: what the client has written since must stay,
and nothing of Muninn's. Prints a row for each check, and `N passed, N failed` alone on
the last line.
"""

import argparse
import os
import pathlib
import sys
import tempfile

from client_claude import QUIET
from programs import package_version, run

CODEX = '# mine\nmodel = "gpt-5" # keep\n\n[mcp_servers.other]\ncommand = "x"\n'
# Name, folder, package, settings before, the client's own list of servers, and what it says of a server that runs.
CLIENTS = [
    ("claude-code", "claude-2.1.329", "@anthropic-ai/claude-code", {".claude.json": '{\n  "numStartups": 3\n}'},
     ["claude", "mcp", "get", "muninn"], "Connected"),
    ("claude-code", "claude-2.1.197", "@anthropic-ai/claude-code", {".claude.json": '{\n  "numStartups": 3\n}'},
     ["claude", "mcp", "get", "muninn"], "Connected"),
    ("codex", "codex", "@openai/codex", {".codex/config.toml": CODEX}, ["codex", "mcp", "list"], "enabled"),
    ("opencode", "opencode", "opencode-ai", {".config/opencode/opencode.jsonc": '{\n  // mine\n  "share": "disabled",\n}\n'},
     ["opencode", "mcp", "list"], "connected"),
]
ENVIRONMENT = QUIET | {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                       "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}


class Home:
    """A private home, and the programs of one client beside the system's."""

    def __init__(self, folder, binaries, root):
        self.folder, self.root = folder, root
        self.environment = ENVIRONMENT | {"PATH": f"{binaries}:{os.environ['PATH']}"}

    def run(self, *command):
        """The exit status and the whole output of a command."""
        status, stdout, stderr = run(command, home=self.folder, cwd=self.root, environment=self.environment)
        return status, stdout + stderr

    def stop_daemon(self, muninn):
        """Ends the daemon that a client's server began to start, so that nobody writes into the home any more."""
        self.run(muninn, "daemon", "start")
        status, output = self.run(muninn, "daemon", "stop")
        return [] if "stopped" in output else [f"the daemon: exit status {status}: {output}"]

    def texts(self, names):
        """The bytes of the files that exist."""
        files = [(name, self.folder / name) for name in names]
        return {name: file.read_bytes() for name, file in files if file.exists()}


def connect(home, muninn, client, before, listing, connected):
    """Installs, asks the client, and uninstalls: the failed requirements."""
    failed = []
    for name, text in before.items():
        (home.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (home.folder / name).write_text(text)
    names = [*before, ".claude/settings.json", ".codex/hooks.json", ".config/opencode/plugin/muninn.ts"]
    first = home.texts(names)

    def expect(what, command, text=""):
        status, output = home.run(*command)
        if status != 0 or text not in output:
            failed.append(f"{what}: exit status {status}: {output[-600:]}")
        return output

    install = [muninn, "install", client, "--with", "mcp,hooks,gateway"]
    expect("a dry run", [*install, "--dry-run"], "dry run: nothing was changed")
    if home.texts(names) != first:
        failed.append("the dry run changed a file")
    output = expect("install", [*install, "--yes"])
    if client != "opencode" and "by its own command" not in output:
        failed.append(f"the client's own command was not used: {output}")
    expect("a second install", [*install, "--yes"], "nothing was changed")
    uninstall = [muninn, "uninstall", client, "--yes"]
    expect("uninstall", uninstall, "no longer connected")
    if (last := home.texts(names)) != first:
        failed.append(f"uninstalling left {last}")
    expect("install after uninstall", [*install, "--yes"])
    expect("the client's list", listing, connected)
    expect("uninstall after a run", uninstall, "no longer connected")
    last = home.texts(names)
    lost = [line for name, text in first.items() for line in text.splitlines() if line.strip(b", ") not in last[name]]
    left = [text for text in last.values() if b"muninn" in text or b"mcpServers" in text or b"4747" in text]
    if lost or left or last.keys() != first.keys():
        failed.append(f"uninstalling after a run lost {lost} and left {last}")
    return failed


def plugin(home, checkout):
    """Validates the plugin and the marketplace, and installs the plugin: the failed requirements."""
    failed = []
    for command, text in [
        (["validate", "--strict", checkout / "plugins" / "claude-code"], "Validation passed"),
        (["validate", "--strict", checkout], "Validation passed"),
        (["marketplace", "add", checkout], "muninn"),
        (["install", "muninn@muninn"], "muninn"),
        (["list"], "muninn@muninn"),
    ]:
        status, output = home.run("claude", "plugin", *command)
        if status != 0 or text not in output:
            failed.append(f"claude plugin {command[0]}: exit status {status}: {output[-600:]}")
    status, output = home.run("claude", "mcp", "list")
    if status != 0 or "plugin:muninn:muninn" not in output or "Connected" not in output:
        failed.append(f"the plugin's server is not connected: {output[-600:]}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muninn", required=True, type=pathlib.Path)
    parser.add_argument("--installs", required=True, type=pathlib.Path)
    parser.add_argument("--checkout", required=True, type=pathlib.Path)
    parser.add_argument("--root", required=True, help="a repository")
    args = parser.parse_args()
    passed = failures = 0

    def report(name, failed):
        nonlocal passed, failures
        print(f"{'FAIL' if failed else 'ok':5} {name}")
        for reason in failed:
            print(f"      {reason}")
        passed, failures = passed + (not failed), failures + bool(failed)

    for client, installed, package, before, listing, connected in CLIENTS:
        version = package_version(args.installs / installed, package)
        binaries = args.installs / installed / "node_modules" / ".bin"
        with tempfile.TemporaryDirectory() as folder:
            home = Home(pathlib.Path(folder), binaries, args.root)
            failed = connect(home, args.muninn, client, before, listing, connected)
            report(f"{client} {version}: install, list, uninstall", failed + home.stop_daemon(args.muninn))
        if client == "claude-code":
            with tempfile.TemporaryDirectory() as folder:
                home = Home(pathlib.Path(folder), f"{binaries}:{args.muninn.parent}", args.root)
                failed = plugin(home, args.checkout.resolve())
                report(f"{client} {version}: plugin from the local marketplace", failed + home.stop_daemon(args.muninn))
    print(f"{passed} passed, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
