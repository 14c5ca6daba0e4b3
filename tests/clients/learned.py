"""What a session leaves for the next one: Claude Code reads and edits, the gateway learns, Claude Code asks again.

The repository (ferry.py) shares its memory through git. In the first session a file is edited that several others fit as
well by their words; the records that this leaves are read field by field. Then a new session asks a like question in other
words, over a clone of the same commit without its memory and over the repository itself: only memory makes a difference.
"""

import contextlib
import dataclasses
import json
import re
import shutil
import subprocess

from children import wait_for
from fixture import git, make_repository

import ferry
import invariants
import scripted
from client_claude import ClaudeCode
from place import place
from scripted import Call, Say

WINDOW = 128000
BACKEND = "scripted, native messages"
MEMORY = ".muninn/memory"
# What every record has, and what that looks like; then what the two types that are expected have beside it.
COMMON = {"id": r"[0-9A-HJKMNP-TV-Z]{26}", "ts": r"\d{4}-\d\d-\d\dT[\d:.]+Z", "session": r"[0-9A-HJKMNP-TV-Z]{26}",
          "branch": r"main", "commit": r"[0-9a-f]{40}"}
FIELDS = {"context_hit": {"query_hash", "terms", "files", "relevance"}, "session_summary": {"files_touched"}}


def prove(lane, installs, row):
    """The first session, then the next one without and with what was learned."""
    client = ClaudeCode(installs, "claude-2.1.329", "claude-opus-5", True)
    checks = lane.checks
    lane = dataclasses.replace(lane, root=make_repository(lane.work / "ferrygate", ferry.FILES, "ferrygate: booking, gate, deck"))
    git(lane.root, "branch", "elsewhere")
    with row(client, BACKEND, "learned: a session that edits") as label:
        set_up(lane)
        first_session(lane, client, label)
    with row(client, BACKEND, "learned: the next one, without memory") as label:
        without = dataclasses.replace(lane, root=clone_without_memory(lane))
        with stand_for(without, client, [], "bare") as (upstream, where):
            guessed, _ = next_session(checks, client, label, [ferry.LIKE_QUESTION], upstream, where)
    with row(client, BACKEND, "learned: the next one, with memory") as label:
        with stand_for(lane, client, [], "desk", again=True) as (upstream, where):
            said = where.stand.command("remember", ferry.FACT, "--json", "--root", str(lane.root))
            fact = json.loads(said.stdout)["id"]
            before = records_of(lane.root)
            known, block = next_session(checks, client, label, [ferry.LIKE_QUESTION, ferry.NEXT_QUESTION], upstream, where)
            checks.equal(f"{label}: the gateway drained", where.stand.stop_gateway(), 0)
        new = [record for record in records_of(lane.root) if record not in before]
        checks.equal(f"{label}: a session in which nothing was done leaves the use of its notes alone",
                     [(record["type"], fact in record["shown"]) for record in new], [("use", True)])
        before, after = position(guessed), position(known)
        print(f"NOTE {ferry.EDITED}: {place_in_pack(before)} without memory, {place_in_pack(after)} with it")
        checks.check(f"{label}: the edited file comes first", after == 0, known)
        checks.check(f"{label}: and did not without", before != 0, guessed)
        facts = [item for item in known if item["kind"] == "memory"]
        checks.check(f"{label}: the fact is an item", any(fact in item["source"] for item in facts), facts)
        checks.check(f"{label}: the fact is in the prompt, with its id", ferry.FACT in block and fact in block, block)


def set_up(lane):
    """`muninn init`, committed."""
    subprocess.run([lane.muninn, "init", "--memory", "repo", "--root", str(lane.root)], cwd=lane.work, capture_output=True,
                   stdin=subprocess.DEVNULL, check=True)
    commit(lane.root, "muninn init")


def commit(root, message):
    """Commits all there is."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def clone_without_memory(lane):
    """The same commit, with nothing that was learned."""
    root = lane.work / "ferrygate-bare"
    git(lane.work, "clone", "-q", str(lane.root), str(root))
    shutil.rmtree(root / MEMORY)
    return root


@contextlib.contextmanager
def stand_for(lane, client, acts, name, again=False):
    """A scripted upstream and a gateway over the lane's repository; both, as (upstream, place)."""
    upstream = scripted.Upstream(client.is_side, acts)
    with contextlib.closing(upstream), place(name, lane=lane, backend=upstream.url, dialect="anthropic", model=scripted.MODEL,
                                             window=WINDOW, again=again) as where:
        yield upstream, where


def first_session(lane, client, label):
    """A question, for which a file is edited, and thanks; then what this left behind."""
    checks, root = lane.checks, lane.root

    def reads(name):
        return Call("Read", {"file_path": str(root / name)})

    edits = Call("Edit", {"file_path": str(root / ferry.EDITED), **ferry.EDIT})
    acts = [reads(ferry.EDITED), reads(ferry.READ), edits, Say(ferry.ANSWER), Say("No.")]
    with stand_for(lane, client, acts, "desk") as (upstream, where):
        outcome = client.converse(where, [ferry.QUESTION, ferry.THANKS], edits=True, side=True)
        judge_conversation(checks, label, client, outcome, upstream, where, 2)
        checks.check(f"{label}: the file was edited", ferry.EDIT["new_string"] in (root / ferry.EDITED).read_text())
        checks.check(f"{label}: a side request was seen", upstream.sides, len(upstream.conversation))
        packed = {path_of(item) for receipt in where.receipts() for item in receipt["items"]}
        # The second turn tells what came of the first one. Until the gateway ends that waits outside the repository.
        spool = where.stand.directory / "state" / "muninn" / "memory"
        wait_for("the first turn is learned", lambda: "context_hit" in text_below(spool), 20)
        checks.equal(f"{label}: nothing is in the repository yet", segments_of(root), [])
        checks.equal(f"{label}: the gateway drained", where.stand.stop_gateway(), 0)
    judge_records(checks, label, root, packed)
    judge_git(checks, label, root)


def segments_of(root):
    """The files of records in a worktree."""
    return sorted((root / MEMORY / "sessions").glob("session_*"))


def records_of(root):
    """The records in those files."""
    return [json.loads(line) for path in segments_of(root) for line in path.read_text().splitlines()]


def judge_conversation(checks, label, client, outcome, upstream, where, questions):
    """The client came to its end; the upstream saw its bytes and our blocks, the earlier ones again. The last prompt's blocks."""
    checks.equal(f"{label}: exit status ({outcome.error[:200]})", outcome.status, 0)
    asked = [e.request for e in where.exchanges if not client.is_side(e.request)]
    reached = upstream.conversation
    checks.equal(f"{label}: each prompt once", len(reached), len(asked))
    compared = invariants.check(checks, label, list(zip(asked, reached)), questions, False)
    checks.equal(f"{label}: each prompt extends the one before", compared, len(reached) - 1)
    return invariants.blocks(reached[-1].format.entries(reached[-1].json))


def judge_records(checks, label, root, packed):
    """The records say which files mattered for which words, and nothing else of what passed."""
    lines = [line for path in segments_of(root) for line in path.read_text().splitlines()]
    records = [json.loads(line) for line in lines]
    for line in lines:
        print(f"NOTE record {line}")
    named = {path.name for path in segments_of(root)}
    checks.equal(f"{label}: one segment, named by its session", named, {f"session_{r['session']}.0.jsonl" for r in records})
    hits = [record for record in records if record["type"] == "context_hit"]
    seen = {hit["relevance"]: hit["files"] for hit in hits}
    # Side requests would have added others, and so would files that were only in a pack.
    wanted = {0.95: [ferry.EDITED], 0.8: [ferry.CITED], 0.5: [ferry.READ]}
    checks.equal(f"{label}: what mattered, and how much", (seen, len(hits)), (wanted, 3))
    checks.equal(f"{label}: all for one question", len({hit["query_hash"] for hit in hits}), 1)
    summaries = [record["files_touched"] for record in records if record["type"] == "session_summary"]
    checks.equal(f"{label}: the session's summary", (summaries, len(records)), ([[ferry.EDITED]], 4))
    for record in records:
        judge_record(checks, f"{label}, {record['type']} {record.get('relevance', '')}".rstrip(), root, record)
    others = packed - {ferry.EDITED, ferry.CITED, ferry.READ}
    written = "\n".join(lines).lower()
    checks.check(f"{label}: other files were packed", others, packed)
    checks.equal(f"{label}: and left nothing", [path for path in others if path.lower() in written], [])
    checks.equal(f"{label}: no name that was mentioned", [name for name in ferry.NAMES if name.lower() in written], [])


def judge_record(checks, label, root, record):
    """Where and when it was learned; and no field or word beyond what is known to be harmless."""
    odd = {name: record.get(name) for name, shape in COMMON.items() if not re.fullmatch(shape, str(record.get(name)))}
    checks.equal(f"{label}: whose, where and when", odd, {})
    checks.equal(f"{label}: its commit", record["commit"], git(root, "rev-parse", "HEAD").strip())
    files = record.get("files") or record.get("files_touched")
    blobs = [{"path": name, "blob": git(root, "hash-object", name).strip()} for name in files]
    checks.equal(f"{label}: its sources, as they are now", record["sources"], blobs)
    checks.equal(f"{label}: its fields", set(record), {*COMMON, "type", "sources", *FIELDS[record["type"]]})
    checks.check(f"{label}: a hash of the question", re.fullmatch(r"[0-9a-f]{16}", record.get("query_hash", "0" * 16)))
    here = "\n".join([*ferry.FILES, *ferry.FILES.values()]).lower()
    strange = [term for term in record.get("terms", []) if term.lower() not in here or term.lower() not in ferry.QUESTION.lower()]
    checks.equal(f"{label}: terms are words of the question and of the repository", strange, [])


def judge_git(checks, label, root):
    """Git sees the edit and the memory, and is not in the way of either."""
    segments = [f"?? {path.relative_to(root).as_posix()}" for path in segments_of(root)]
    checks.equal(f"{label}: git status", git(root, "status", "--porcelain").splitlines(), [f" M {ferry.EDITED}", *segments])
    commit(root, "lanes: twice the patience")
    git(root, "checkout", "-q", "elsewhere")
    checks.equal(f"{label}: another branch has no memory", segments_of(root), [])
    git(root, "checkout", "-q", "main")
    checks.equal(f"{label}: nothing is left to commit", git(root, "status", "--porcelain"), "")


def next_session(checks, client, label, questions, upstream, where):
    """A new session, answered with nothing to learn from; the items of its first pack, and the first block of its last prompt."""
    outcome = client.converse(where, questions)
    blocks = judge_conversation(checks, label, client, outcome, upstream, where, len(questions))
    items = where.receipts()[0]["items"]
    print(f"NOTE {label}: {questions[0]}")
    for item in items:
        print(f"NOTE   {item['kind']:9} {item['source']:44} {item['score']:<6} {item['why']}")
    return items, (blocks or [""])[0]


def position(items):
    """Where the edited file stands among the files of a pack, from 0; None where it is not in it."""
    files = [path_of(item) for item in items if item["kind"] in ("code", "place")]
    return files.index(ferry.EDITED) if ferry.EDITED in files else None


def place_in_pack(position):
    """A position in words."""
    return "not packed" if position is None else f"file {position + 1} of the pack"


def path_of(item):
    """The path of an item that is code."""
    return item["source"].split(":")[0]


def text_below(directory):
    """The text of all files below a directory; a file that goes while it is looked at has none."""
    found = []
    for path in directory.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            found.append(path.read_text(errors="replace"))
    return "\n".join(found)
