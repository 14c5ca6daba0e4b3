"""Plain HTTP and the two dialects, as a client sees them.

Written on http.client instead of a vendor's library: what is compared here are bytes, headers and the moment at which
they arrive, and a library would hide all three.
"""

import dataclasses
import http.client
import json
import urllib.parse

BYPASS = {"x-muninn-context": "bypass"}
KEYS = {"authorization": "Bearer dummy", "x-api-key": "dummy", "anthropic-version": "2023-06-01"}
SECONDS = 300


@dataclasses.dataclass
class Reply:
    """A complete answer: status, headers in lower case, body."""

    status: int
    headers: dict
    body: bytes

    @property
    def kind(self):
        """The media type without its parameters."""
        return self.headers.get("content-type", "").split(";")[0].strip()

    @property
    def json(self):
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def events(self):
        """The server-sent events as (event name or None, data) pairs, data not parsed."""
        found = []
        for block in self.body.decode().replace("\r\n", "\n").split("\n\n"):
            fields = [line.partition(":")[::2] for line in block.split("\n") if line and not line.startswith(":")]
            data = "\n".join(value.removeprefix(" ") for key, value in fields if key == "data")
            names = [value.strip() for key, value in fields if key == "event"]
            if data:
                found.append((names[0] if names else None, data))
        return found

    @property
    def payloads(self):
        """The events' data as JSON, without the closing `[DONE]`."""
        return [json.loads(data) for _, data in self.events if data != "[DONE]"]


class Endpoint:
    """One HTTP origin; a connection per request, so that no check depends on another one's connection."""

    def __init__(self, url):
        self.url = url.rstrip("/")
        self.address = urllib.parse.urlsplit(url).netloc

    def open(self, method, path, body=None, headers=None):
        """Sends a request and returns the connection and the response with its body unread."""
        connection = http.client.HTTPConnection(self.address, timeout=SECONDS)
        sent = {"content-type": "application/json", **KEYS} if body is not None else {}
        connection.request(method, path, body=body, headers=sent | (headers or {}))
        return connection, connection.getresponse()

    def send(self, method, path, body=None, headers=None):
        """Sends a request and reads the whole answer; a `dict` body is sent as JSON."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        connection, response = self.open(method, path, body, headers)
        try:
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, fields, response.read())
        finally:
            connection.close()

    def get(self, path):
        """GET without headers of our own."""
        return self.send("GET", path)

    def post(self, path, body, headers=None):
        """POST with the dummy keys that a client of a local server sends."""
        return self.send("POST", path, body, headers)


def chat_text(reply):
    """The answer's text, streamed or not."""
    if reply.kind != "text/event-stream":
        return reply.json["choices"][0]["message"]["content"]
    deltas = [choice["delta"] for event in reply.payloads for choice in event["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


def messages_text(reply):
    """The answer's text, streamed or not."""
    if reply.kind != "text/event-stream":
        return "".join(block["text"] for block in reply.json["content"] if block["type"] == "text")
    deltas = [event["delta"] for event in reply.payloads if event["type"] == "content_block_delta"]
    return "".join(delta.get("text", "") for delta in deltas)


def responses_text(reply):
    """The answer's text, streamed or not."""
    if reply.kind != "text/event-stream":
        parts = [part for item in reply.json["output"] for part in item.get("content", [])]
        return "".join(part["text"] for part in parts)
    return "".join(event["delta"] for event in reply.payloads if event["type"] == "response.output_text.delta")


def chat_usage(reply):
    """(whole prompt, of it cached) in the backend's tokens; a stream reports it in its last chunk."""
    reports = [event["usage"] for event in reply.payloads if event.get("usage")]
    usage = reports[-1]
    return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


def messages_usage(reply):
    """(whole prompt, of it cached); this dialect counts cached tokens apart, so that the whole is a sum."""
    usage = next(event["message"]["usage"] for event in reply.payloads if event["type"] == "message_start")
    cached = usage.get("cache_read_input_tokens") or 0
    return usage["input_tokens"] + cached + (usage.get("cache_creation_input_tokens") or 0), cached
