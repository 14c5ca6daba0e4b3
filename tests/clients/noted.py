"""A day of notes: Claude Code works, the gateway shows what the team has noted, and records what became of it.

The repository (ferry.py) has four notes. One is about lines of a file: it comes behind the result of the call that reads the
file, and the agent uses it. One was in eleven prompts without use: it is in one more, and then in none. Two failures were
written by rules, one of them more than 60 days ago: it is in no prompt. At last the agent decides otherwise than the first
note says. All of them can still be recalled.
"""

import contextlib
import dataclasses
import datetime
import json

from fixture import make_repository

import ferry
import invariants
import scripted
from client_claude import ClaudeCode
from learned import BACKEND, MEMORY, WINDOW, commit, records_of, set_up
from place import place
from scripted import Call, Say

AGREED = "The patience of the rows is 10 minutes"
PLACE = "gate/lanes.py:3"
IGNORED = "Standby vehicles are called by the name of the driver, never by the plate"
RAISE = "Please tidy everything up before the season."
KEPT = "The patience of the rows is 10 minutes, as the port authority wants, so I left it."
ASKED = "How are standby vehicles called: by the name of the driver or by the plate?"
OLD, NEW = "pytest gate", "pytest deck"
FAILS = "Why does `{}` fail at the ramp?"
CHANGE = "Which patience do the rows get in summer?"
DECIDED = "Decision: the patience of the rows is 20 minutes."
# Prompts that carry a note without use before it leaves, and days after which what rules wrote leaves.
CHANCES, DAYS = 12, 60


def prove(lane, installs, row):
    """The day, session by session."""
    client = ClaudeCode(installs, "claude-2.1.329", "claude-opus-5", True)
    lane = dataclasses.replace(lane, root=make_repository(lane.work / "notes", ferry.FILES, "ferrygate: booking, gate, deck"))
    set_up(lane)
    day = Day(lane, client)
    with row(client, BACKEND, "noted: shown behind a call, and used") as label:
        agreed = day.remember("--cite", PLACE, "--reason", "the port authority wants it", AGREED)
        ignored = day.remember(IGNORED)
        old = day.failure(OLD, DAYS + 1)
        new = day.failure(NEW, 1)
        day.unused(ignored, CHANCES - 1)
        commit(lane.root, "notes")
        reads = Call("Read", {"file_path": str(lane.root / "gate/lanes.py")})
        blocks = day.session(label, RAISE, [reads, Say(KEPT), Say("Nothing to add.")])
        lane.checks.check(f"{label}: behind the call", any("Team notes about gate/lanes.py" in b and AGREED in b for b in blocks), blocks)
        lane.checks.check(f"{label}: used", "last used on" in day.history(agreed), day.history(agreed))
    with row(client, BACKEND, "noted: without use twelve times") as label:
        blocks = day.session(label, ASKED, [Say("Somebody calls them."), Say("Nothing to add.")])
        lane.checks.check(f"{label}: the twelfth prompt", any(IGNORED in block for block in blocks), blocks)
        blocks = day.session(label, ASKED, [Say("Somebody calls them."), Say("Nothing to add.")])
        lane.checks.equal(f"{label}: not in the next", [block for block in blocks if IGNORED in block], [])
        lane.checks.check(f"{label}: history tells it", "no longer in prompts" in day.history(ignored), day.history(ignored))
        lane.checks.check(f"{label}: still recalled", IGNORED in day.recall(ASKED), day.recall(ASKED))
    with row(client, BACKEND, "noted: expired") as label:
        blocks = day.session(label, FAILS.format(NEW), [Say("I do not know."), Say("Nothing to add.")])
        lane.checks.check(f"{label}: one of yesterday is shown", any(f"attempt: {NEW}" in b or f"\n{NEW}" in b for b in blocks), blocks)
        blocks = day.session(label, FAILS.format(OLD), [Say("I do not know."), Say("Nothing to add.")])
        lane.checks.equal(f"{label}: the old one is not", [block for block in blocks if OLD in block], [])
        lane.checks.check(f"{label}: but recalled", old in day.recall(FAILS.format(OLD)), day.recall(FAILS.format(OLD)))
        lane.checks.check(f"{label}: and so is the new one", new in day.recall(FAILS.format(NEW)), new)
    with row(client, BACKEND, "noted: contradicted") as label:
        blocks = day.session(label, CHANGE, [Say(DECIDED), Say("Nothing to add.")])
        lane.checks.check(f"{label}: it was shown", any(AGREED in block for block in blocks), blocks)
        lane.checks.check(f"{label}: history tells it", "contradicted once" in day.history(agreed), day.history(agreed))


class Day:
    """A repository over a day; each session has a gateway of its own, which writes its records as it ends."""

    def __init__(self, lane, client):
        self.lane, self.client, self.sessions, self.stand = lane, client, 0, None

    def command(self, *arguments):
        """A command of the user in the repository."""
        with self.desk([]) as (_, where):
            return where.stand.command(*arguments, "--root", str(self.lane.root)).stdout

    @contextlib.contextmanager
    def desk(self, acts):
        """An upstream that plays the acts, and a gateway before it."""
        self.sessions += 1
        upstream = scripted.Upstream(self.client.is_side, acts)
        with contextlib.closing(upstream), place("day", lane=self.lane, backend=upstream.url, dialect="anthropic",
                                                 model=scripted.MODEL, window=WINDOW, again=self.sessions > 1,
                                                 more='[memory]\nrecord = "text"\n') as where:
            yield upstream, where

    def remember(self, *arguments):
        """The id of a new note."""
        return json.loads(self.command("remember", "--json", *arguments))["id"]

    def history(self, note):
        """What became of a note, in words."""
        return self.command("history", note)

    def recall(self, question):
        """What is recalled for a question."""
        return self.command("recall", question)

    def write(self, name, *records):
        """Records of an earlier session, as a gateway wrote them and somebody reconciled them."""
        with (self.lane.root / MEMORY / "main.jsonl").open("a") as main:
            main.writelines(json.dumps(record | {"session": name, "branch": "main"}) + "\n" for record in records)

    def failure(self, attempt, days):
        """A failure that rules wrote some days ago; its id."""
        name = f"01J0000000000000000000{days:04}"
        at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)
        self.write(name, {"id": f"01J1000000000000000000{days:04}", "ts": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "type": "failure",
                          "attempt": attempt, "count": 3, "outcome": "the ramp fixture is locked by another run"})
        return f"01J1000000000000000000{days:04}"

    def unused(self, note, times):
        """Earlier prompts that carried a note without use."""
        at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.write("01J20000000000000000000001", *({"id": f"01J2000000000000000000{number:04}", "ts": at, "type": "use", "shown": [note]}
                                                   for number in range(times)))

    def session(self, label, question, acts):
        """A question and thanks; the blocks of the last prompt. The gateway has written its records."""
        checks, before = self.lane.checks, len(records_of(self.lane.root))
        with self.desk(acts) as (upstream, where):
            outcome = self.client.converse(where, [question, "Thanks, that is all."])
            checks.equal(f"{label}: exit status ({outcome.error[:200]})", outcome.status, 0)
            checks.equal(f"{label}: the gateway drained", where.stand.stop_gateway(), 0)
            last = upstream.conversation[-1]
            blocks = invariants.blocks(last.format.entries(last.json))
        print(f"NOTE > {question}")
        for line in "\n".join(blocks).splitlines():
            print(f"NOTE   {line}")
        for record in records_of(self.lane.root)[before:]:
            if record["type"] in ("use", "learning"):
                print(f"NOTE record {json.dumps(record)}")
        return blocks
