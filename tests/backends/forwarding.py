"""What a client gets through the gateway is what the backend says: answers, streams, errors, models."""

import http.client
import json

from children import MODEL, StageError, wait_for
from wire import BYPASS, chat_text, messages_text, responses_text

OUTCOMES = {"injected", "partial", "replayed", "none", "off", "bypass", "failed"}
QUESTION = "Name three things that float on water."
# Greedy and without the slot's cache: the arithmetic is then the same whoever asked before, and so is the text. The
# field is llama.cpp's own, so that it also shows that unknown fields arrive.
COMMON = {"model": MODEL, "temperature": 0, "cache_prompt": False}
LONG = {"max_tokens": 4000, "ignore_eos": True, "temperature": 0.7}

# name, path, the rest of the body, how to read the text, how a stream ends
ROUTES = [
    ("chat", "/v1/chat/completions", {"max_tokens": 24, "messages": [{"role": "user", "content": QUESTION}]}, chat_text,
     (None, "[DONE]")),
    ("messages", "/v1/messages?beta=true", {"max_tokens": 24, "system": "Be brief.",
     "messages": [{"role": "user", "content": QUESTION}]}, messages_text, ("message_stop", None)),
    ("responses", "/v1/responses", {"max_output_tokens": 24, "input": QUESTION}, responses_text,
     ("response.completed", None)),
]


def check_surface(checks, stand):
    """The paths that the gateway answers itself."""
    gateway = stand.gateway
    checks.equal("GET /healthz is 200", gateway.get("/healthz").status, 200)
    models = gateway.get("/v1/models")
    names = {model["id"] for model in models.json["data"]}
    checks.check("GET /v1/models lists the backend's model and muninn/context", {MODEL, "muninn/context"} <= names, names)
    head = gateway.send("HEAD", "/")
    checks.equal("HEAD / is 200 and empty", (head.status, head.body), (200, b""))


def check_answers(checks, stand):
    """Each dialect, plain and streamed, against the same request sent to the backend itself."""
    for name, path, body, text_of, end in ROUTES:
        for stream in (False, True):
            label = f"{name}, {'streamed' if stream else 'plain'}"
            sent = COMMON | body | {"stream": stream}
            direct = stand.direct.post(path, sent)
            if direct.status == 404:
                print(f"skip  {label}: the backend has no {path}", flush=True)
                continue
            through = stand.gateway.post(path, sent, BYPASS)
            checks.equal(f"{label}: status", through.status, 200)
            checks.equal(f"{label}: content type", through.headers.get("content-type"), direct.headers["content-type"])
            checks.check(f"{label}: text equals the backend's own", text_of(direct) and text_of(through) == text_of(direct),
                         (text_of(through), text_of(direct)))
            if stream:
                last_name, last_data = through.events[-1]
                checks.equal(f"{label}: ends with {end[0] or end[1]}", end[0] and last_name or last_data, end[0] or end[1])
                checks.equal(f"{label}: as many events", len(through.events), len(direct.events))
            check_headers(checks, label, through, {"bypass"})


def check_headers(checks, label, reply, outcomes=frozenset(OUTCOMES)):
    """The two headers of the gateway's own."""
    checks.check(f"{label}: carries a request id", reply.headers.get("x-muninn-request-id"), reply.headers)
    outcome = reply.headers.get("x-muninn-context")
    checks.check(f"{label}: x-muninn-context is {' or '.join(sorted(outcomes)) if len(outcomes) < 4 else 'a known outcome'}",
                 outcome in outcomes, outcome)


def check_switches(checks, stand):
    """`off` adds nothing: the prompt is as long as the backend counts it without us."""
    for name, path, body, _, _ in ROUTES[:2]:
        plain = stand.direct.post(path, COMMON | body).json["usage"]
        reply = stand.gateway.post(path, COMMON | body, {"x-muninn-context": "off"})
        check_headers(checks, f"{name}, off", reply, {"off"})
        usage = reply.json["usage"]
        key = "prompt_tokens" if name == "chat" else "input_tokens"
        checks.equal(f"{name}, off: the prompt has no token more", usage[key], plain[key])


def check_passed_on(checks, stand):
    """Other paths under /v1/, and the backend's own refusals, verbatim."""
    counted = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}]}
    same(checks, stand, "count_tokens is forwarded", "POST", "/v1/messages/count_tokens?beta=true", counted)
    same(checks, stand, "an unknown path under /v1/", "POST", "/v1/no/such/path", {"model": MODEL})
    same(checks, stand, "an unknown path under /v1/, GET", "GET", "/v1/no-such-path", None)
    for name, path, body, _, _ in ROUTES[:2]:
        for stream in (False, True):
            hot = COMMON | body | {"temperature": "hot", "stream": stream}
            label = f"a refused {name} request{', streamed' if stream else ''}"
            same(checks, stand, label, "POST", path, hot)
            same(checks, stand, f"{label}, bypass", "POST", path, hot, BYPASS)


def same(checks, stand, label, method, path, body, headers=None):
    """Records that status, content type and body are the backend's own."""
    seen, wanted = (end.send(method, path, body, headers) for end in (stand.gateway, stand.direct))
    parts = [(reply.status, reply.headers.get("content-type"), reply.body) for reply in (seen, wanted)]
    checks.equal(f"{label}: verbatim ({wanted.status})", *parts)


def busy_slots(stand):
    """How many of the backend's slots are generating."""
    return sum(slot["is_processing"] for slot in stand.direct.get("/slots").json)


def check_leaving(checks, stand):
    """A client that leaves takes its upstream request with it.

    The answer asked for takes more than 20 seconds, so that a slot that is idle within 6 was cancelled, not finished.
    Asked seldom: llama.cpp looks for a closed connection when a request has heard nothing for a second, and an answer
    to anybody, /slots too, starts that second anew.
    """
    for name, path, body, _, _ in ROUTES[:2]:
        for stream in (True, False):
            label = f"{name}, {'streamed' if stream else 'plain'}"
            wait_for("an idle backend", lambda: busy_slots(stand) == 0, 120)
            leave = begin(stand, path, COMMON | body | LONG | {"stream": stream}, stream)
            wait_for("the backend at work", lambda: busy_slots(stand) == 1, 10)
            leave()
            try:
                wait_for("the slot idle again", lambda: busy_slots(stand) == 0, 6, pause=1.5)
                idle = True
            except StageError:
                idle = False
            checks.check(f"{label}: the backend stops when the client leaves", idle, "still generating after 6 s")


def begin(stand, path, body, stream):
    """Sends a long request, reads a little of a streamed answer, and returns the function that hangs up."""
    connection = http.client.HTTPConnection(stand.gateway.address, timeout=60)
    connection.request("POST", path, json.dumps(body).encode(), {"content-type": "application/json", **BYPASS})
    if not stream:
        return connection.close
    response = connection.getresponse()
    response.read1(64)

    def leave():
        response.close()
        connection.close()

    return leave
