"""The cache proof: injected context must not cost the backend its prefix cache.

A client sends its own history back at every turn, without the blocks that the gateway had inserted. If the gateway puts
each block back where it was, byte for byte, the new prompt begins with the whole previous one, and the backend reports
nearly all of it as cached. If one block is missing or has moved, the cache ends there. So the backend's own count is
the proof, and the same conversation without replay (later turns bypass the gateway's context) shows that the count can
fall.
"""

from children import KNOWN_WINDOW, MODEL, stand, wait_for
from explorer import exploring, wait_explored
from fixture import QUESTIONS
from wire import BYPASS, chat_text, chat_usage, messages_text, messages_usage

SHARE = 0.95
# An answer that begins with white space may join the prompt's last token once both are history.
SEAM_TOKENS = 2
SYSTEM = "You are a careful assistant for the kelpline repository. Answer in one short sentence."
ANSWER_TOKENS = 24
PACK_LIMIT = KNOWN_WINDOW * 20 // 100


class Chat:
    """Chat completions as a client writes them: the system text is a message, the history is replayed as it was."""

    name = "chat completions"
    path = "/v1/chat/completions"
    text = staticmethod(chat_text)
    usage = staticmethod(chat_usage)
    headers = {}
    limit = "max_tokens"

    def body(self, turns, question):
        """A request for `question` after `turns` of (question, answer)."""
        messages = [{"role": "system", "content": SYSTEM}]
        for asked, answer in turns:
            messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        messages.append({"role": "user", "content": question})
        return {"stream_options": {"include_usage": True}, "messages": messages}


class Messages:
    """Messages as Claude Code writes them: the newest turn is a list of blocks with the cache marker, and becomes a plain
    string once it is history. The marker moves; what was said does not."""

    name = "messages"
    path = "/v1/messages?beta=true"
    text = staticmethod(messages_text)
    usage = staticmethod(messages_usage)
    headers = {"x-claude-code-session-id": "4e0a2c52-6f3b-4d0e-9a55-0d6a3a7c1b11"}
    limit = "max_tokens"

    def body(self, turns, question):
        """A request for `question` after `turns` of (question, answer)."""
        marker = {"cache_control": {"type": "ephemeral"}}
        messages = []
        for asked, answer in turns:
            messages += [{"role": "user", "content": asked},
                         {"role": "assistant", "content": [{"type": "text", "text": answer}]}]
        # The very first turn is a string, the second one its first list: both forms must find their rows again.
        newest = [{"type": "text", "text": question, **marker}] if turns else question
        messages.append({"role": "user", "content": newest})
        return {"system": [{"type": "text", "text": SYSTEM, **marker}], "messages": messages}


DIALECTS = [Chat(), Messages()]


# What a model found for the first question, in a file that no question is about.
FOUND = "desk/export.py:6-11"


def converse(place, dialect, explored=False, replay=True):
    """Holds the four turns; a list of rows as in the table, with the receipt.

    `explored`: after the first turn, what is explored beside it is waited for. Without `replay`, later turns bypass
    context, so the first turn's block is not put back.
    """
    turns, rows, previous = [], [], None
    for number, (question, right_file) in enumerate(QUESTIONS, 1):
        body = {"model": MODEL, "temperature": 0, dialect.limit: ANSWER_TOKENS, "stream": True}
        headers = dialect.headers if replay or not turns else dialect.headers | BYPASS
        reply = place.gateway.post(dialect.path, body | dialect.body(turns, question), headers)
        if reply.status != 200:
            raise RuntimeError(f"turn {number}: status {reply.status}: {reply.body[:300]!r}")
        prompt, cached = dialect.usage(reply)
        receipt = place.receipt(reply.headers["x-muninn-request-id"])
        rows.append({
            "turn": number, "prompt": prompt, "injected": receipt["tokens"], "cached": cached,
            "share": cached / previous if previous else None, "outcome": reply.headers.get("x-muninn-context"),
            "sources": [item["source"] for item in receipt["items"]], "right_file": right_file,
            "entered": receipt.get("entered", []),
        })
        if explored and number == 1:
            wait_explored(place, receipt["id"])
        turns.append((question, dialect.text(reply)))
        previous = prompt
    return rows


def print_table(title, rows):
    """The table that the proof is read from."""
    print(f"      {title}\n      turn  prompt  injected  cached  of previous prompt  outcome")
    for row in rows:
        share = "-" if row["share"] is None else f"{100 * row['share']:.1f}%"
        print(f"      {row['turn']:>4}  {row['prompt']:>6}  {row['injected']:>8}  {row['cached']:>6}  {share:>18}  {row['outcome']}",
              flush=True)


def warm_up(place):
    """Waits until the index answers, asking about something else in a new conversation each time.

    A new one, because a turn that went without context stays without. Its answer is short, but not of one token, which
    is how a client probes. What it leaves in the slot is overwritten by the first turn.
    """
    attempts = iter(range(10_000))

    def probe():
        question = f"Attempt {next(attempts)}: what does export_month in desk/export.py write?"
        body = {"model": MODEL, "max_tokens": 8, "messages": [{"role": "user", "content": question}]}
        return place.gateway.post("/v1/chat/completions", body).headers.get("x-muninn-context") == "injected"

    wait_for("an answer with context from the complete index", probe, 60, pause=0.5)


def prove(checks, **place):
    """Both dialects, each with replay and without, every conversation on a stand of its own."""
    for dialect in DIALECTS:
        label = dialect.name
        for replay in (True, False):
            name = f"proof-{label.split()[0]}-{'replay' if replay else 'without'}"
            title = f"{label}, replay {'on' if replay else 'off'}"
            with stand(name, slots=1, **place) as running, checks.group(f"cache proof: {title}", running.log):
                warm_up(running)
                rows = converse(running, dialect, replay=replay)
                print_table(title, rows)
                (judge_replay if replay else judge_without)(checks, label, rows)


        with exploring(QUESTIONS[0][0], FOUND) as explorer:
            name, title = f"proof-{label.split()[0]}-background", f"{label}, exploring in the background"
            more = explorer.settings()
            with stand(name, slots=1, more=more, **place) as running, checks.group(f"cache proof: {title}", running.log):
                warm_up(running)
                rows = converse(running, dialect, explored=True)
                print_table(title, rows)
                judge_replay(checks, title, rows)
                judge_entered(checks, title, rows)


def judge_entered(checks, label, rows):
    """What was found for the first turn came in at the second, once, where the ledger has it from then on."""
    entered = [row["turn"] for row in rows if row["entered"]]
    print(f"      entered at turn {entered}", flush=True)
    checks.equal(f"{label}: entered at the second turn", entered, [2])
    with_it = [row["turn"] for row in rows if any(source.startswith("desk/export.py:") for source in row["sources"])]
    checks.equal(f"{label}: packed there, and not again", with_it, [2])


def judge_replay(checks, label, rows):
    """What must hold with replay: every turn injected, the right file in it, and the previous prompt still cached."""
    for row in rows:
        turn = f"{label}, turn {row['turn']}"
        checks.check(f"{turn}: context was injected", row["outcome"] == "injected" and row["injected"] > 0, row)
        checks.check(f"{turn}: at most 20% of the window", row["injected"] <= PACK_LIMIT, row["injected"])
        found = any(source.split(":")[0] == row["right_file"] for source in row["sources"])
        checks.check(f"{turn}: the right file is in the receipt", found, (row["right_file"], row["sources"]))
        if row["share"] is not None:
            checks.check(f"{turn}: {100 * row['share']:.1f}% of the previous prompt was cached", row["share"] >= SHARE,
                         f"at least {100 * SHARE:.0f}% wanted")
    for before, row in zip(rows, rows[1:]):
        # The share alone would forgive a change in a block's last bytes, where only the end of a prompt is lost.
        checks.check(f"{label}, turn {row['turn']}: none of the previous prompt was lost",
                     row["cached"] >= before["prompt"] - SEAM_TOKENS, (row["cached"], before["prompt"]))
        # The backend counts in its own tokenizer, which needs more tokens for code than ours, never far fewer.
        grown = row["prompt"] - before["prompt"]
        checks.check(f"{label}, turn {row['turn']}: the prompt grew by what the receipt says", grown >= 0.8 * row["injected"],
                     (grown, row["injected"]))


def judge_without(checks, label, rows):
    """What must hold without replay: the first turn has context, and the second, which lacks its block, loses the cache."""
    checks.check(f"{label}, replay off: context was injected", rows[0]["injected"] > 0, rows[0])
    share = rows[1]["share"]
    checks.check(f"{label}, replay off: the second turn falls under {100 * SHARE:.0f}% ({100 * share:.1f}%)", share < SHARE)
