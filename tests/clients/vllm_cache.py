"""The cache proof on vLLM: its own count per turn, and its counters over a conversation.

The same proof as on llama.cpp, with the same conversation. One server serves all of it here, and its cache holds what
every earlier conversation left, so each conversation begins with a word that was never said before.
"""

import contextlib
import secrets

import cache_proof
from vllm_formats import FORMATS
from vllm_server import BLOCK, prefix_cache

# A previous prompt is found up to its last whole block, and its last token may join the answer's first one.
LOST = BLOCK + cache_proof.SEAM_TOKENS


class Own:
    """One of the proof's dialects, with a first word of its own, read as vLLM reports."""

    def __init__(self, dialect, form, word):
        self.dialect, self.form, self.word = dialect, form, word
        self.name, self.path, self.headers, self.limit = dialect.name, dialect.path, dialect.headers, dialect.limit
        self.text = form.text

    def usage(self, reply):
        """(whole prompt, of it cached)."""
        return self.form.usage(reply)

    def body(self, turns, question):
        """The dialect's body; its system text begins with the word."""
        body = self.dialect.body(turns, question)
        if "messages" in body and "system" not in body:
            body["messages"][0]["content"] = f"{self.word} {body['messages'][0]['content']}"
        elif "system" in body:
            body["system"][0]["text"] = f"{self.word} {body['system'][0]['text']}"
        else:
            body["instructions"] = f"{self.word} {body['instructions']}"
        return body


class Responses:
    """Responses as Codex writes them: items, append-only."""

    name = "responses"
    path = "/v1/responses"
    headers = {"session-id": "6b1f0c1e-2f0a-4c7e-9d3c-51f7f3a0b2d4"}
    limit = "max_output_tokens"

    def body(self, turns, question):
        """A request for `question` after `turns` of (question, answer)."""
        items = []
        for asked, answer in turns:
            items += [message("user", "input_text", asked), message("assistant", "output_text", answer)]
        items.append(message("user", "input_text", question))
        return {"instructions": cache_proof.SYSTEM, "input": items, "store": False,
                "prompt_cache_key": self.headers["session-id"]}


def message(role, kind, text):
    """One item of text."""
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


DIALECTS = {"chat": cache_proof.DIALECTS[0], "messages": cache_proof.DIALECTS[1], "responses": Responses()}


def prove(checks, server, stands, pairs):
    """Each (client, backend) pair with replay and without; `stands` makes a gateway, `server` is vLLM itself."""
    shares = {}
    for client, backend in pairs:
        for replay in (True, False):
            title = f"{client} -> {backend}, replay {'on' if replay else 'off'}"
            dialect = Own(DIALECTS[client], FORMATS[client], f"[{secrets.token_hex(4)}]")
            with contextlib.ExitStack() as stack:
                running = stack.enter_context(stands(f"cache-{client}-{backend}-{replay}", backend))
                stack.enter_context(checks.group(f"cache proof: {title}", running.log))
                cache_proof.warm_up(running)
                before = prefix_cache(server)
                rows = cache_proof.converse(running, dialect, replay=replay)
                after = prefix_cache(server)
                looked, found = (later - earlier for earlier, later in zip(before, after))
                cache_proof.print_table(title, rows)
                print(f"      vLLM's counters: {before} before, {after} after: {found} of {looked} tokens found "
                      f"({100 * found / looked:.1f}%)", flush=True)
                shares[title] = rows[1]["share"]
                (judge_replay if replay else judge_without)(checks, title, rows)
        on, off = (shares.get(f"{client} -> {backend}, replay {name}") for name in ("on", "off"))
        if on is None or off is None:
            continue  # The conversation that could not be held has failed already.
        checks.check(f"{client} -> {backend}: more of the first prompt is cached with replay ({100 * on:.1f}%) than without "
                     f"({100 * off:.1f}%)", on > off)


def judge_replay(checks, title, rows):
    """What must hold with replay: every turn injected, and the previous prompt found up to its last whole block."""
    for row in rows:
        injected = row["outcome"] == "injected" and row["injected"] > 0
        checks.check(f"{title}, turn {row['turn']}: context was injected", injected, row)
    for before, row in zip(rows, rows[1:]):
        checks.check(f"{title}, turn {row['turn']}: {row['cached']} of the previous {before['prompt']} tokens were cached",
                     row["cached"] >= before["prompt"] - LOST, f"at most {LOST} may be lost")


def judge_without(checks, title, rows):
    """What must hold without replay: the first turn has context, and the cache of the second ends where its block is
    missing."""
    checks.check(f"{title}: context was injected", rows[0]["injected"] > 0, rows[0])
    lost = rows[0]["prompt"] - rows[1]["cached"]
    checks.check(f"{title}: the second turn loses more than a block ({lost})", lost > LOST)
