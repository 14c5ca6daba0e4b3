"""What is asked of every pair of client and backend, and the table of the answers.

First each format is put to vLLM itself: what the server does not do there, no gateway can be asked for, and the table
says so. Then the same through muninn.
"""

import json

from vllm_formats import FORMATS, SYSTEM, TOOL, expect
from wire import BYPASS

from children import MODEL

# Answers that leave no choice: where two words are as likely, vLLM's answer depends on what its cache held.
QUESTION = "Say this sentence again, word for word: The tide turns at noon."
TOOL_QUESTION = "What is the water level in the south harbour at minute 15?"
RESULT = "The level is 212 centimetres and rising."
TEXT_TOKENS = 24
CALL_TOKENS = 128
WANTED = set(TOOL["schema"]["required"])
OFF = {"x-muninn-context": "off"}


class Fault(Exception):
    """What a case found wrong."""


class Client:
    """A client of one format at one endpoint, streaming or not."""

    def __init__(self, endpoint, form, stream, headers):
        self.endpoint, self.form, self.stream, self.headers = endpoint, form, stream, headers

    def ask(self, body):
        """Sends a body; the reply, which must be a whole answer of its kind."""
        common = {"model": MODEL, "temperature": 0, "stream": self.stream}
        reply = self.endpoint.post(self.form.path, common | body, self.headers)
        if reply.status != 200:
            raise Fault(f"status {reply.status}: {reply.body[:200]!r}")
        kind = "text/event-stream" if self.stream else "application/json"
        faults = [f"content type {reply.kind}"] if reply.kind != kind else []
        if self.stream and not faults:
            faults = list(self.form.faults(reply))
        if faults:
            raise Fault("; ".join(faults))
        return reply


def text(client):
    """A plain answer; its text."""
    said = client.form.text(client.ask(client.form.body(QUESTION, TEXT_TOKENS)))
    if not said.strip():
        raise Fault("no text")
    return said


def usage(client):
    """The size of the prompt, in the backend's tokens."""
    body = client.form.body(QUESTION, TEXT_TOKENS)
    if client.stream and client.form.name == "chat":
        body["stream_options"] = {"include_usage": True}
    return client.form.usage(client.ask(body))[0]


def check_call(client, call):
    """The arguments of a call, which must be of the tool that was offered."""
    arguments = json.loads(call.arguments)
    faults = expect([
        (f"the tool is {call.name!r}", call.name == TOOL["name"]),
        (f"the arguments are {call.arguments[:80]!r}", isinstance(arguments, dict) and set(arguments) == WANTED),
        ("the call has no id", call.id),
    ])
    if faults:
        raise Fault("; ".join(faults))
    return f"{call.arguments} ({call.why})"


def required(client):
    """A tool call because one is required."""
    body = client.form.body(TOOL_QUESTION, CALL_TOKENS) | client.form.tools(False)
    return check_call(client, client.form.call(client.ask(body)))


def named(client):
    """A tool call because this tool is named."""
    body = client.form.body(TOOL_QUESTION, CALL_TOKENS) | client.form.tools(True)
    return check_call(client, client.form.call(client.ask(body)))


def result(client):
    """An answer after a tool's result, with the call that the same client was given before."""
    body = client.form.body(TOOL_QUESTION, CALL_TOKENS) | client.form.tools(True)
    call = client.form.call(client.ask(body))
    said = client.form.text(client.ask(client.form.result(TOOL_QUESTION, call, RESULT, TEXT_TOKENS)))
    if not said.strip():
        raise Fault("no text")
    return said


def schema(client):
    """An answer that is JSON of the schema."""
    said = client.form.text(client.ask(client.form.body(TOOL_QUESTION, CALL_TOKENS) | client.form.schema()))
    if set(json.loads(said)) != {"level", "rising"}:
        raise Fault(f"not of the schema: {said!r}")
    return said


CASES = [text, usage, required, named, result, schema]
# What the same question gives is the same whoever carries it: greedy decoding over the same prompt.
EXACT = {"text", "usage"}


def attempt(case, client):
    """(whether it worked, what came out or went wrong)."""
    try:
        return True, case(client)
    except Exception as error:  # Whatever it is, it goes into the table.
        return False, f"{type(error).__name__}: {error}"


def run_direct(endpoint):
    """Every case put to vLLM itself: {(format, case, stream): (worked, outcome)}."""
    print("\ndirect: what vLLM itself does", flush=True)
    seen = {}
    for form in FORMATS.values():
        for stream in (False, True):
            for case in CASES:
                outcome = attempt(case, Client(endpoint, form, stream, {}))
                seen[form.name, case.__name__, stream] = outcome
                mark = "ok" if outcome[0] else "NO"
                print(f"      {form.name}, {mode(stream)}, {case.__name__}: {mark}: {outcome[1]!r:.200}", flush=True)
    return seen


def run_through(checks, table, gateway, backend, clients, direct):
    """Every case through the gateway for these clients; `backend` is the format that the backend is asked in, None for
    the client's own."""
    for form in (FORMATS[name] for name in clients):
        behind = backend or form.name
        for stream in (False, True):
            for case in CASES:
                name = case.__name__
                label = f"{form.name} -> {behind}, {mode(stream)}, {name}"
                works, wanted = direct[behind, name, stream]
                if not works:
                    table[form.name, behind, stream, name] = "backend: no"
                    print(f"skip  {label}: vLLM itself does not: {wanted:.160}", flush=True)
                    continue
                headers = BYPASS if backend is None else OFF
                ok, outcome = attempt(case, Client(gateway, form, stream, headers))
                checks.check(label, ok, outcome)
                table[form.name, behind, stream, name] = "ok" if ok else "FAIL"
                if ok and name in EXACT:
                    ok = checks.equal(f"{label}: as the backend's own", outcome, wanted)
                    table[form.name, behind, stream, name] = "ok" if ok else "differs"
                elif ok:
                    print(f"      {outcome!r:.200}", flush=True)


def run_count_tokens(checks, table, gateway, direct, backend):
    """count_tokens of a messages client: the backend's own count where it has one, else an estimate near it."""
    body = {"model": MODEL, "system": SYSTEM, "messages": [{"role": "user", "content": QUESTION}]}
    own = direct.post("/v1/messages/count_tokens", body).json["input_tokens"]
    reply = gateway.post("/v1/messages/count_tokens", body, OFF)
    label = f"messages -> {backend or 'messages'}, count_tokens"
    if not checks.equal(f"{label}: status", reply.status, 200):
        table["messages", backend or "messages", False, "count"] = "FAIL"
        return
    count = reply.json["input_tokens"]
    marks = {key: value for key, value in reply.headers.items() if "estimate" in key or "estimate" in value}
    if backend in (None, "messages"):
        ok = checks.equal(f"{label}: the backend's own", (count, marks), (own, {}))
    else:
        near = own / 2 <= count <= own * 2
        ok = checks.check(f"{label}: an estimate of {count} for {own}, marked by {marks}", near and marks)
    said = f"{count}" + (f" of {own}" if count != own else "")
    table["messages", backend or "messages", False, "count"] = said if ok else "FAIL"


def print_table(table):
    """vLLM's table: a row per client, backend and mode."""
    columns = [case.__name__ for case in CASES] + ["count"]
    print("\nclient     backend    mode      " + "  ".join(f"{name:<11}" for name in columns))
    rows = sorted({key[:3] for key in table}, key=lambda row: (row[0] != row[1], row))
    for client, backend, stream in rows:
        cells = [table.get((client, backend, stream, name), "-") for name in columns]
        print(f"{client:<10} {backend:<10} {mode(stream):<9} " + "  ".join(f"{cell:<11}" for cell in cells), flush=True)


def mode(stream):
    """How a request is answered."""
    return "streamed" if stream else "plain"
