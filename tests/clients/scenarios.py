"""The scenarios: what is asked, what the upstream does, and what must come of it.

Each is one row of data and, where more than the usual is to be seen, a judge. What all of them check is in lane.py.
"""

import dataclasses
from typing import Callable

import invariants
from scripted import Call, Drop, Fail, Say, Silence

ANSWERS = ["The first answer of the scripted model.", "The second answer of the scripted model.",
           "The third answer of the scripted model."]
LONG_WORDS = "This answer is going to break off somewhere in the middle of a word."
# A part of the file that every client's tool reads (desk/curve.py), spelled alike in JSON.
TOOL_RESULT = b"math.cos(math.pi * phase)"
RETRY_AFTER = 2
# The head is held for ten seconds, and what keeps a stream alive comes after ten more at the latest.
SILENT_SECONDS = 22
# More failures than any client should come back for: one that asks until they are used up is looping.
MANY = 8


def says(count=1):
    """Acts that answer every question."""
    return [Say(words) for words in ANSWERS[:count]]


@dataclasses.dataclass(frozen=True)
class Scenario:
    """`acts(client, root, wire)` is the upstream's part, `wire` its format's name.

    `fails(client)` says whether the client is to end with an error of its own; `extra` judges what is special about the
    scenario; `compacts` says that the client may rewrite its history; `options` go to the client's `converse`.
    """

    acts: Callable
    prompts: int = 1
    stream: bool = True
    compacts: bool = False
    fails: Callable = lambda client: False
    extra: Callable = None
    options: dict = dataclasses.field(default_factory=dict)


def overload(wire):
    """How a backend of each format says that it has too much to do."""
    return Fail(529, "overloaded") if wire == "messages" else Fail(503, "overloaded")


def overflow(wording):
    """A context overflow, in the format's usual wording or a vendor's; again and again where the client comes back."""

    def acts(client, _root, _wire):
        wanted = Fail(400, wording)
        return [*says(2), wanted, Say(ANSWERS[2])] if client.compacts else [wanted] * MANY

    return acts


def judge_tool(checks, label, seen):
    """The file's text reached the model as the tool's result: it stands in the last request, and not in the first."""
    first, last = (seen.reached[place].body.count(TOOL_RESULT) for place in (0, -1))
    checks.check(f"{label}: the tool's result reached the model", first < last, (first, last))
    checks.check(f"{label}: a request for the call and one for the result", len(seen.reached) >= 2, len(seen.reached))


def judge_retry(checks, label, seen):
    """The client waited as long as it was told, then asked again."""
    times = [request.at for request in seen.reached]
    checks.check(f"{label}: asked again", len(times) >= 2, len(times))
    waited = times[1] - times[0] if len(times) > 1 else 0
    checks.check(f"{label}: not before retry-after", waited >= RETRY_AFTER * 0.9, f"{waited:.2f} s")


def judge_again(checks, label, seen):
    """Somebody asked again; the block of the second try is that of the first."""
    if not seen.client_fails:
        checks.check(f"{label}: asked again", len(seen.reached) >= 2, len(seen.reached))
    blocks = {tuple(invariants.blocks(request.json)) for request in seen.reached}
    checks.check(f"{label}: every try carries the same block", len(blocks) == 1, len(blocks))


def judge_overflow(checks, label, seen):
    """The client understood what went wrong, and did not ask for ever."""
    if seen.client_fails:
        checks.check(f"{label}: ends with its own error", seen.outcome.error, seen.outcome)
        checks.check(f"{label}: does not ask for ever", len(seen.reached) < MANY, len(seen.reached))
    else:
        checks.check(f"{label}: compacted", any(b"CRITICAL: Respond with TEXT ONLY" in side.body for side in seen.sides),
                     [len(side.body) for side in seen.sides])


def judge_overflow_wording(checks, label, seen):
    """The overflow is said in the words that clients of the format know."""
    checks.check(f"{label}: in the client's words", seen.client_format.OVERFLOW in seen.outcome.error, seen.outcome.error[:300])


def judge_side(checks, label, seen):
    """A side request went upstream with nothing new in it; a title with nothing at all."""
    checks.check(f"{label}: a side request was seen", seen.sides, [len(request.body) for request in seen.reached])
    known = set()
    for request in seen.in_order:
        found = invariants.blocks(request.json)
        if request.side:
            checks.check(f"{label}: nothing new in a side request", set(found) <= known, len(found))
            if b"title generator" in request.body:
                checks.equal(f"{label}: nothing at all in a title request", len(found), 0)
        known |= set(found)


def judge_websocket(checks, label, seen):
    """Every request went over a WebSocket, the results of tools on the connection of their call."""
    upgrades = [e for e in seen.exchanges if e.request.method == "GET" and "upgrade" in e.request.headers]
    checks.check(f"{label}: the client asked for a WebSocket", upgrades)
    checks.equal(f"{label}: and got it", {exchange.status for exchange in upgrades}, {101})
    over = [e for e in seen.main_exchanges if "sec-websocket-key" in e.request.headers]
    checks.equal(f"{label}: nothing went over HTTP", len(over), len(seen.main_exchanges))
    checks.check(f"{label}: fewer connections than requests", len(upgrades) < len(over), (len(upgrades), len(over)))
    judge_tool(checks, label, seen)


def judge_silence(checks, label, seen):
    """Something came to the client while nothing came from the upstream."""
    body = seen.main_exchanges[0].body
    alive = b"event: ping" in body if seen.client_format.NAME == "messages" else b"\n: " in b"\n" + body or b"\n:\n" in b"\n" + body
    checks.check(f"{label}: kept alive while the upstream was silent", alive, body[:200])


def fails_on_drop(client):
    """Libraries and curl report a broken stream, and leave it at that."""
    return not client.recovers


def fails_on_overflow(client):
    """Who does not compact, ends."""
    return not client.compacts


SCENARIOS = {
    "one shot": Scenario(lambda *_: says()),
    "one shot, plain": Scenario(lambda *_: says(), stream=False),
    "two turns": Scenario(lambda *_: says(2), prompts=2),
    "two turns, plain": Scenario(lambda *_: says(2), prompts=2, stream=False),
    "tool": Scenario(lambda client, root, _: [Call(*client.tool(root)), *says()], extra=judge_tool),
    "tool, plain": Scenario(lambda client, root, _: [Call(*client.tool(root)), *says()], stream=False, extra=judge_tool),
    "tool, then a turn": Scenario(lambda client, root, _: [Call(*client.tool(root)), *says(2)], prompts=2, extra=judge_tool),
    "429, retry-after": Scenario(lambda *_: [Fail(429, "slow down", (("retry-after", str(RETRY_AFTER)),)), *says()],
                                 extra=judge_retry),
    "overload": Scenario(lambda _client, _root, wire: [overload(wire), *says()], extra=judge_again),
    "drop": Scenario(lambda *_: [Drop(LONG_WORDS), *says()], fails=fails_on_drop, extra=judge_again),
    "overflow": Scenario(overflow("overflow"), prompts=3, compacts=True, fails=fails_on_overflow, extra=judge_overflow),
    "overflow, vllm": Scenario(overflow("overflow:vllm"), fails=lambda _: True, extra=judge_overflow_wording),
    "overflow, llama.cpp": Scenario(overflow("overflow:llama.cpp"), fails=lambda _: True, extra=judge_overflow_wording),
    "overflow, vendor": Scenario(overflow("overflow"), fails=lambda _: True, extra=judge_overflow_wording),
    "side request": Scenario(lambda *_: says(2), prompts=2, compacts=True, extra=judge_side, options={"side": True}),
    "websocket": Scenario(lambda client, root, _: [Call(*client.tool(root)), *says(2)], prompts=2, extra=judge_websocket,
                          options={"websockets": True}),
    "silence": Scenario(lambda *_: [Silence(SILENT_SECONDS, ANSWERS[0])], extra=judge_silence),
}

AGENT = ["one shot", "two turns", "tool", "tool, then a turn", "429, retry-after", "overload", "drop", "overflow", "side request"]
LIBRARY = ["one shot", "one shot, plain", "two turns", "two turns, plain", "tool", "tool, plain", "tool, then a turn",
           "429, retry-after", "overload", "drop", "overflow"]
BY_HAND = ["one shot", "one shot, plain", "two turns", "two turns, plain", "429, retry-after", "drop", "overflow, vendor",
           "overflow, vllm", "overflow, llama.cpp", "silence"]
TEXT = ["one shot", "two turns"]
