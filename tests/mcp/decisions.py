"""Changed decisions, with real Claude Code and a scripted model.

An author who writes a note is asked about the older one, and says that it replaces it. An agent walks through undecided pairs with
the skill of the plugin. A person decides one. Where nobody does, both are recalled.

Prints a transcript of each, and `N passed, N failed` alone on the last line.
"""

import contextlib
import json
import re

import checks
import scripted
from clients import ours, texts
from journals import Place, run_check, shown
from programs import package_version

OLD = "Rows wait 10 minutes for a late vehicle because the port wants it."
NEW = "Rows wait 20 minutes for a late vehicle since the summer timetable."
OTHERS = ["Refunds are paid by bank transfer.", "The boards show departures in local time."]
QUESTION = "How long do rows wait for a late vehicle?"
RECORD = re.compile(r"01[0-9A-HJKMNP-TV-Z]{24}")


class Desk:
    """A repository with notes, and what the checks found."""

    def __init__(self, place):
        self.place, self.failed, self.transcript = place, [], []
        ours(place.muninn, place.home, place.root, "init", "--memory", "repo")
        for note in [*OTHERS, OLD]:
            self.run("remember", note)

    def run(self, *arguments):
        """The output of a command, which the transcript shows."""
        told = ours(self.place.muninn, self.place.home, self.place.root, *arguments)
        self.transcript += [f"$ muninn {' '.join(arguments)}", *(f"  {line}" for line in told.splitlines()[:12])]
        return told

    def expect(self, what, found, *wanted, unwanted=()):
        self.failed += [f"{what} lacks {text!r}: {found[-400:]}" for text in wanted if text not in found]
        self.failed += [f"{what} has {text!r}" for text in unwanted if text in found]

    def undecided(self):
        """Another note, and an undecided pair in main."""
        self.run("remember", NEW)
        self.place.git("add", "-A")
        self.place.git("-c", "user.name=demo", "-c", "user.email=demo@example.com", "commit", "-qm", "notes")
        self.expect("reconcile", self.run("reconcile", "--here"), "1 undecided pair")

    def ask(self, prompt, steps, *more):
        """Lets the client answer with these calls; the result of each must have its words."""
        _, new = self.place.ask(prompt, [act for act, _ in steps], *more)
        self.transcript.append(f"> {prompt}")
        for (act, wanted), found in zip(steps, new[1:]):
            self.transcript.append(f"  {act.name}: {shown(found, wanted)}")
            self.expect(f"the result of {act.name}", found.replace('\\"', '"'), wanted)

    def result(self):
        return self.failed, self.transcript


def bash(command):
    """A command; it may depend on the request."""
    made = command if callable(command) else lambda _: command
    return scripted.Call("Bash", lambda request: {"command": made(request), "description": "run"})


def last(request, member):
    """The last object with a member in the texts of a request."""
    begin = re.compile(r'\{\s*"')
    for text in reversed(list(texts(request))):
        for place in begin.finditer(text):
            with contextlib.suppress(ValueError):
                found, _ = json.JSONDecoder().raw_decode(text[place.start():])
                if member in found:
                    return found
    raise AssertionError(f"no result has {member}")


def author(place):
    """Whoever writes a note says that it replaces the older one."""
    desk = Desk(place)
    server = place.folder / "mcp.json"
    server.write_text(json.dumps({"mcpServers": {"muninn": {"command": place.muninn, "args": ["mcp"]}}}))

    def link(request):
        told = last(request, "related")
        return f"muninn link {told['id']} --replaces {told['related'][0]['id']}"

    desk.ask("Rows wait 20 minutes from now on. Note it, and why.", [
        (scripted.Call("mcp__muninn__remember", {"text": NEW}), '"related"'), (bash(link), " replaces "),
    ], "--mcp-config", server, "--strict-mcp-config")
    desk.expect("recall", desk.run("recall", QUESTION), NEW, unwanted=[OLD])
    return desk.result()


def agent(place, checkout):
    """An agent decides with the skill, and one decision is undone."""
    desk = Desk(place)
    desk.undecided()

    def resolve(request):
        batch = last(request, "batch")["batch"]
        decisions = [{"pair": pair["pair"], "relation": "replaced" if pair["older"]["text"] == OLD else "unsure",
                      "reason": "the user changed it"} for pair in batch["pairs"]]
        return f"muninn resolve --by agent --batch {batch['id']} <<'END'\n{json.dumps({'decisions': decisions})}\nEND"

    desk.ask("/muninn:settle", [
        (bash("muninn conflicts --undecided --json"), '"instructions"'), (bash(resolve), "1 replaced"),
        (bash("muninn conflicts --json"), '"conflicts":[]'),
    ], "--plugin-dir", checkout / "plugins" / "claude-code")
    desk.expect("recall", desk.run("recall", QUESTION), NEW, unwanted=[OLD])
    log = desk.run("reconcile", "--log")
    desk.expect("the log", log, "by agent", "the user changed it", OLD, NEW)
    sides = [line.split()[0] for line in log.splitlines() if RECORD.match(line.strip())]
    desk.run("link", sides[0], "--apart", sides[-1])
    desk.expect("recall", desk.run("recall", QUESTION), NEW, OLD)
    return desk.result()


def person(place):
    """A person decides, with a note."""
    desk = Desk(place)
    desk.undecided()
    identifier = RECORD.search(desk.run("conflicts")).group()
    desk.run("resolve", identifier, "--keep=right", "--note", "the timetable has changed")
    desk.expect("recall", desk.run("recall", QUESTION), NEW, unwanted=[OLD])
    desk.expect("the log", desk.run("reconcile", "--log"), "the timetable has changed")
    return desk.result()


def nobody(place):
    """Nobody decides: both are recalled, and say so."""
    desk = Desk(place)
    desk.undecided()
    desk.expect("recall", desk.run("recall", QUESTION), OLD, NEW, "may contradict")
    desk.expect("conflicts", desk.run("conflicts"), "do these two still both hold?")
    return desk.result()


def main():
    args = checks.arguments(checkout=True)
    version = package_version(args.installs / "claude-2.1.329", "@anthropic-ai/claude-code")
    ways = [("by its author", author), ("by an agent", lambda place: agent(place, args.checkout)), ("by a person", person),
            ("by nobody", nobody)]
    checks.report((f"Claude Code {version}: a changed decision, {name}", lambda way=way: run_check(args, way)) for name, way in ways)


if __name__ == "__main__":
    main()
