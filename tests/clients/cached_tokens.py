"""What a session costs the backend's prefix cache: Claude Code and llama.cpp, with the gateway and without.

Two turns with `-c` in each of three ways, each with a llama.cpp of its own, so that no way finds another one's prompt.
The backend's own count of cached tokens is the measure: with injection on, the second prompt must find the first one,
block included.
"""

import contextlib
import dataclasses

from children import KNOWN_WINDOW, MODEL, start_llama
from fixture import QUESTIONS
from wire import Reply, messages_usage

from client_claude import ClaudeCode
from place import place
from tap import Tap

WAYS = ["injection on", "bypass", "no gateway"]
SHARE = 0.95


@dataclasses.dataclass
class Direct:
    """The surroundings of a client without a gateway, as far as a client asks."""

    url: str
    root: object
    home: object


def converse(lane, client, way):
    """The session's (prompt tokens, cached tokens) per turn, as the backend reports them."""
    questions = [question for question, _ in QUESTIONS[:2]]
    directory = lane.work / f"backend-{way.replace(' ', '-')}"
    directory.mkdir()
    with contextlib.ExitStack() as children:
        llama = start_llama(children, directory, 1, "--one-sentence")
        tap = Tap(llama.address)
        children.callback(tap.close)
        if way == "no gateway":
            home = directory / "home"
            home.mkdir()
            outcome = client.converse(Direct(tap.url, lane.root, home), questions, small=True, model=MODEL)
        else:
            where = children.enter_context(place(f"cached {way}", lane=lane, backend=tap.url, dialect="anthropic", model=MODEL,
                                                 window=KNOWN_WINDOW))
            headers = "x-muninn-context: bypass" if way == "bypass" else ""
            outcome = client.converse(where, questions, small=True, model=MODEL, headers=headers)
        answers = [e for e in tap.exchanges if e.request.method == "POST" and e.request.format and e.status == 200]
        return outcome, [messages_usage(Reply(e.status, e.headers, e.body)) for e in answers]


def prove(lane, installs, row):
    """All ways, one row and two lines of the table each."""
    client = ClaudeCode(installs, "claude-2.1.329", MODEL, True)
    print(f"NOTE Claude Code {client.version} against llama.cpp with SmolLM2, two turns with -c; tokens as the backend counts them"
          " (--bare, no tools, a short system prompt)")
    print(f"NOTE {'':14}  turn  prompt  cached  of the previous prompt")
    for way in WAYS:
        with row(client, "llama.cpp, native messages", f"cached tokens, {way}") as label:
            outcome, usages = converse(lane, client, way)
            lane.checks.equal(f"{label}: exit status ({outcome.error[:200]})", outcome.status, 0)
            lane.checks.equal(f"{label}: two requests", len(usages), 2)
            for number, (prompt, cached) in enumerate(usages, 1):
                share = min(1.0, cached / usages[number - 2][0]) if number > 1 else None
                shown = "-" if share is None else f"{100 * share:.1f}%"
                print(f"NOTE {way:14}  {number:>4}  {prompt:>6}  {cached:>6}  {shown:>22}", flush=True)
                if share is not None:
                    lane.checks.check(f"{label}: the second prompt finds the first one", share >= SHARE, shown)
