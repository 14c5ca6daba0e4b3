"""What must be true of every prompt that reached the upstream, read from the recorded bytes.

Native: cut the gateway's blocks out of an upstream body and the client's own body must be left, byte for byte. That one
comparison covers system text, tools, thinking, cache markers, key order and number precision. Converted: the bytes
differ by nature, so system text, tools and the conversation are compared by what they say.
Both: a prompt extends the one before it wherever the client's own does, and a human turn has one block at most.
"""

import re

# With the sentence that follows the fence: a small model repeats a bare fence in its answers, and that is its own text.
BLOCK = r'<muninn-context>\\n(?:Added automatically by Muninn|Team notes about )(?:[^"\\]|\\.)*?</muninn-context>(?:\\n)?'
# The ways in which a block gets into a body, each with what was there before. A client's string becomes a list, hence
# the longer forms first.
FORMS = [
    (re.compile(r'\[\{"type":"message","role":"user","content":\[\{"type":"input_text","text":("(?:[^"\\]|\\.)*")\},'
                r'\{"type":"input_text","text":"' + BLOCK + r'"\}\]\}\]'), r"\1"),
    (re.compile(r'\[\{"type":"(?:input_)?text","text":("(?:[^"\\]|\\.)*")\},\{"type":"(?:input_)?text","text":"' + BLOCK
                + r'"\}\]'), r"\1"),
    (re.compile(r',\{"type":"(?:input_)?text","text":"' + BLOCK + r'"\}'), ""),
    (re.compile(r"\\n\\n" + BLOCK), ""),
]
FENCED = re.compile(r"<muninn-context>\n(?:Added automatically by Muninn|Team notes about ).*?</muninn-context>", re.DOTALL)


def without_blocks(body):
    """Every way to cut the blocks out of a body. A client that itself writes a list of one block gives two readings."""
    text = body.decode()
    last = FORMS[2:]
    readings = []
    for forms in (FORMS, last, [FORMS[1], *last], [FORMS[0], *last]):
        cut = text
        for form, before in forms:
            cut = form.sub(before, cut)
        readings.append(cut.encode())
    return readings


def blocks(value):
    """The blocks in a parsed body, in order."""
    return [block for text in texts(value) for block in FENCED.findall(text)]


def texts(value):
    """All strings in a parsed value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def extends(longer, shorter):
    """Whether a list of entries goes on from another one.

    The last entry may have grown: clients append blocks to an earlier message, and reminders to the newest one.
    """
    if not shorter or len(longer) < len(shorter):
        return False
    *history, newest = shorter
    return longer[:len(history)] == history and grown(longer[len(history)], newest)


def grown(after, before):
    """Whether an entry is another one with nothing changed but what was appended to its content: parts, or text to the
    last one, which is how a format that wants roles to alternate holds two messages of a user."""
    if after == before:
        return True
    if not isinstance(after.get("content"), list) or not isinstance(before.get("content"), list):
        return False
    *parts, last = before["content"] or [{}]
    there = after["content"][:len(parts) + 1]
    same = {**after, "content": 0} == {**before, "content": 0} and there[:-1] == parts
    return same and (there[-1:] == [last] or there[-1].get("text", "").startswith(last.get("text") or "\0"))


def check(checks, label, pairs, human_turns, converted):
    """All of it, for the (client's request, upstream's request) pairs of one conversation, in order.

    `human_turns` is how many questions were asked. Returns how many pairs of prompts extended each other, so that a
    scenario of several requests can say that there was something to compare.
    """
    compared = 0
    for number, (asked, reached) in enumerate(pairs, 1):
        where = f"{label}, prompt {number}"
        if converted:
            check_meaning(checks, where, asked, reached)
        else:
            checks.check(f"{where}: the client's bytes, and blocks only", asked.body in without_blocks(reached.body),
                         first_difference(asked.body, reached.body))
        found = blocks(reached.format.entries(reached.json))
        checks.check(f"{where}: no more blocks than questions, none twice",
                     len(found) <= human_turns and len(set(found)) == len(found), len(found))
        everywhere = blocks(reached.json)
        checks.equal(f"{where}: no block outside the conversation", len(everywhere), len(found))
    for (asked, reached), (asked_next, reached_next) in zip(pairs, pairs[1:]):
        if not extends(asked_next.format.entries(asked_next.json), asked.format.entries(asked.json)):
            continue
        compared += 1
        earlier, later = (r.format.entries(r.json) for r in (reached, reached_next))
        checks.check(f"{label}: the next prompt extends the one before", extends(later, earlier),
                     [(a, b) for a, b in zip(earlier, later) if a != b][:1])
        kept = blocks(earlier)
        checks.equal(f"{label}: earlier blocks stand again, byte for byte", blocks(later)[:len(kept)], kept)
    return compared


def check_meaning(checks, where, asked, reached):
    """A converted prompt says what the client's says."""
    asked_body, reached_body = asked.json, reached.json
    checks.equal(f"{where}: the same tools", reached.format.tools(reached_body), asked.format.tools(asked_body))
    # The attribution line is for one vendor's billing, and differs from run to run: no other backend gets it.
    wanted = [line for line in asked.format.system(asked_body).splitlines()
              if line.strip() and not line.startswith("x-anthropic-billing-header")]
    there = "\n".join(texts(reached_body))
    checks.check(f"{where}: the whole system text", all(line in there for line in wanted),
                 [line for line in wanted if line not in there][:2])
    said = [line for text in texts(asked.format.entries(asked_body)) for line in text.splitlines() if len(line) > 20]
    # Ids have the target's shape, and arguments are text here and structure there; words are words everywhere.
    words = [line for line in said if " " in line and not line.startswith("{")]
    checks.check(f"{where}: all that was said", all(line in there for line in words), [line for line in words if line not in there][:2])


def first_difference(asked, reached):
    """Where the nearest reading leaves the client's bytes."""
    def common(cut):
        return next((at for at, (a, b) in enumerate(zip(asked, cut)) if a != b), min(len(asked), len(cut)))

    cut = max(without_blocks(reached), key=common)
    at = common(cut)
    return f"at {at}: client {asked[at - 40:at + 60]!r}, upstream {cut[at - 40:at + 60]!r}"
