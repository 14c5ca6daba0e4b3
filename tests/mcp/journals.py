"""Real Claude Code at both journals, with a scripted model.

The git journal: a write without a read is refused, then a section is read and written; after another writer the write is
refused with what was written, and succeeds after a read. The worklog: one session fails three times, is held, declares a
mutation and goes on; the next one gets the last lines first, and without them its edit is held once.

Prints a transcript of each, and `N passed, N failed` alone on the last line.
"""

import json
import pathlib
import subprocess
import tempfile

import checks
import scripted
from client_claude import QUIET, ClaudeCode
from clients import ours, texts
from programs import package_version, run

MODEL = "claude-sonnet-4-5"
SETTINGS = "[worklog]\nenabled = true\n[hooks]\ndeadline_ms = 4000\n"
TOOLS = "mcp__muninn__*,Bash,Edit,Read,Write"


class Place:
    """A repository, a home, and the client in it."""

    def __init__(self, args, folder):
        self.muninn, self.folder = args.muninn, folder
        self.binary = args.installs / "claude-2.1.329" / "node_modules" / ".bin" / "claude"
        self.root, self.home = folder / "demo", folder / "home"
        self.root.mkdir()
        settings = self.home / ".config" / "muninn" / "muninn.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS)
        (self.root / "bucket.txt").write_text("leaks\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=demo", "-c", "user.email=demo@example.com", "commit", "-qm", "demo")

    def git(self, *arguments):
        done = subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

    def ask(self, prompt, acts, *more):
        """Lets the client answer a prompt with these acts of the model; the texts that are new in each request."""
        upstream = scripted.Upstream(ClaudeCode.is_side, [*acts, scripted.Say("done")])
        # The program's folder is in PATH, so that commands of the model find it.
        path = f"{pathlib.Path(self.muninn).parent}:/usr/bin:/bin"
        environment = QUIET | {"ANTHROPIC_BASE_URL": upstream.url, "ANTHROPIC_API_KEY": "dummy", "PATH": path}
        command = [self.binary, "-p", prompt, "--output-format", "json", "--model", MODEL, "--allowedTools", TOOLS, *more]
        status, stdout, stderr = run(command, home=self.home, cwd=self.root, environment=environment)
        asked = [list(texts(request.json)) for request in upstream.conversation]
        upstream.close()
        assert status == 0 and len(asked) > len(acts), f"{status}, {len(asked)} requests: {(stderr or stdout)[-400:]}"
        new = [[text for text in later if text not in earlier] for earlier, later in zip([[]] + asked, asked)]
        return json.loads(stdout)["session_id"], ["\n".join(found) for found in new]

    def stop(self):
        return ours(self.muninn, self.home, self.root, "daemon", "stop")


def shown(text, wanted=None):
    """A line of a text, from the words that are wanted, without the client's reminders."""
    text = " ".join(text.split("<system-reminder>\n<total_tokens>")[0].split())
    return text[max(text.rfind(wanted), 0):][:200] if wanted else text[-200:]


def journal(place):
    """The git journal: the failed requirements, and the transcript."""
    def call(name, **arguments):
        return scripted.Call(f"mcp__muninn__{name}", arguments)

    def write(entry):
        return call("journal_write", path="gateway/retries", entry=entry, summary=entry)

    other = "muninn journal read gateway/retries --session other && muninn journal write gateway/retries --session other "
    other += "--entry 'Found by another.' --summary 'Found by another'"
    steps = [
        (write("Too early."), "before you write to it; call `journal_read`"),
        (call("journal_read", id="gateway/retries"), '"version":"new"'),
        (write("Retries double."), '"id":"gateway/retries#'),
        (scripted.Call("Bash", {"command": other, "description": "another writer"}), "wrote gateway/retries#"),
        (write("They are bounded."), "Found by another"),
        (call("journal_read", id="gateway/retries"), '"entry_count":2'),
        (write("They are bounded."), '"entry_count":3'),
    ]
    server = place.folder / "mcp.json"
    arguments = ["mcp", "--tools", "journal"]
    server.write_text(json.dumps({"mcpServers": {"muninn": {"command": place.muninn, "args": arguments}}}))
    before = place.git("status", "--porcelain"), place.git("for-each-ref", "refs/heads")
    _, new = place.ask("Note what retries do.", [act for act, _ in steps], "--mcp-config", server, "--strict-mcp-config")
    failed, transcript = [], []
    for (act, wanted), found in zip(steps, new[1:]):
        transcript.append(f"{act.name}: {shown(found)}")
        if wanted not in found.replace('\\"', '"'):
            failed.append(f"the result of {act.name} lacks {wanted!r}: {found[-300:]}")
    log = place.git("log", "--format=%s", "refs/muninn/journal").splitlines()
    if log != ["They are bounded.", "Found by another", "Retries double."]:
        failed.append(f"the commits: {log}")
    if (place.git("status", "--porcelain"), place.git("for-each-ref", "refs/heads")) != before:
        failed.append("the user's branches or files changed")
    return failed, transcript


def worklog(place):
    """The worklog: the failed requirements, and the transcript."""
    failed, transcript = [], []

    def expect(what, found, *wanted):
        transcript.append(f"{what}: {shown(found, *wanted[:1])}")
        failed.extend(f"{what} lacks {text!r}: {found[-400:]}" for text in wanted if text not in found)

    ours(place.muninn, place.home, place.root, "init", "--memory", "local")
    ours(place.muninn, place.home, place.root, "install", "claude-code", "--with", "hooks", "--yes")

    def bash(command):
        return scripted.Call("Bash", {"command": command, "description": "run"})

    mutate = "muninn worklog mutate M5 --failed-on 'make test' --switching-to 'a Makefile first' --rationale 'no rule'"
    makefile = {"file_path": str(place.root / "Makefile"), "content": "test:\n\ttrue\n"}
    acts = [*[bash("make test")] * 4, bash(mutate), scripted.Call("Write", makefile), bash("make test")]
    _, new = place.ask("Make the test pass. Then stop.", acts)
    expect("third failure", new[3], "failed 3 times in succession")
    expect("fourth try", new[4], "muninn worklog mutate")
    expect("declaration", new[5], "declared M5")
    text = (place.root / "JOURNAL.md").read_text()
    expect("JOURNAL.md", text, "Intent: Make the test pass.", "❌ Failed: `make test`", "## MUTATION: M5 (Reduce Scope)",
           "✅ Worked after M5: `make test`")

    edit = scripted.Call("Edit", {"file_path": str(place.root / "bucket.txt"), "old_string": "leaks", "new_string": "holds"})
    read = scripted.Call("Read", {"file_path": str(place.root / "bucket.txt")})
    _, new = place.ask("Go on with the bucket.", [read, edit])
    expect("second session, first request", new[0], "The worklog of this worktree", "Worked after M5")
    if (place.root / "bucket.txt").read_text() != "holds\n":
        failed.append("the second session could not edit")

    # Without the hooks that give the lines first, the edit is held once.
    settings = place.home / ".claude" / "settings.json"
    kept = json.loads(settings.read_text())
    kept["hooks"] = {event: groups for event, groups in kept["hooks"].items() if event.startswith(("Pre", "Post"))}
    settings.write_text(json.dumps(kept))
    again = scripted.Call("Edit", {**edit.arguments, "old_string": "holds", "new_string": "fills"})
    _, new = place.ask("And again.", [read, again, again])
    expect("third session, first edit", new[2], "Read the last 50 lines of the worklog first", "Worked after M5")
    if (place.root / "bucket.txt").read_text() != "fills\n":
        failed.append("the third session could not edit after it had read")
    if "JOURNAL" in place.git("status", "--porcelain"):
        failed.append("git shows JOURNAL.md")
    return failed, transcript


def run_check(args, check):
    """A check in a place of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(args, pathlib.Path(folder))
        try:
            return check(place)
        finally:
            place.stop()


def main():
    args = checks.arguments()
    version = package_version(args.installs / "claude-2.1.329", "@anthropic-ai/claude-code")
    checks.report((f"Claude Code {version}: {name}", lambda check=check: run_check(args, check))
                  for name, check in [("git journal", journal), ("worklog", worklog)])


if __name__ == "__main__":
    main()
