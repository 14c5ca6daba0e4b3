"""The scripted upstream: a socket that plays a model, records what it was asked byte for byte, and fails on command.

A scenario hands it a list of acts; each conversation request takes the next one, and one that finds the list empty is
answered with text. A client's side requests (titles and the like) take no act. Written on plain sockets instead of a web
framework, because half of what it does is what no framework would let it do.
"""

import dataclasses
import json
import socket
import struct
import threading
import time
from collections.abc import Callable

import format_chat
import format_messages
import format_responses

FORMATS = {
    "/v1/chat/completions": format_chat,
    "/v1/messages": format_messages,
    "/v1/responses": format_responses,
}
MODEL = "scripted"


@dataclasses.dataclass(frozen=True)
class Say:
    """An answer in words."""

    words: str


@dataclasses.dataclass(frozen=True)
class Call:
    """A tool call; `name` and `arguments` are the client's own. Arguments that depend on earlier results are a function of the
    request."""

    name: str
    arguments: dict | Callable[[dict], dict]


@dataclasses.dataclass(frozen=True)
class Fail:
    """A status before any answer. `kind` picks the body out of the format's or a vendor's wordings."""

    status: int
    kind: str
    headers: tuple = ()


@dataclasses.dataclass(frozen=True)
class Drop:
    """A stream that ends in the middle, with a reset rather than a proper end."""

    words: str


@dataclasses.dataclass(frozen=True)
class Silence:
    """Nothing at all for a while, then words."""

    seconds: float
    words: str


@dataclasses.dataclass
class Recorded:
    """One request as it arrived, and what was played."""

    at: float
    method: str
    path: str
    headers: dict
    body: bytes
    act: object = None
    side: bool = False

    @property
    def format(self):
        """The module of its wire format, None for anything that is no conversation."""
        return FORMATS.get(self.path.split("?")[0])

    @property
    def json(self):
        """The body as JSON."""
        return json.loads(self.body)


class Upstream:
    """Listens on a free port of loopback until closed."""

    def __init__(self, is_side, acts=()):
        self.acts = list(acts)
        self.requests = []
        self.lock = threading.Lock()
        self.is_side = is_side
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        """Stops listening; open connections end with their threads."""
        self.listener.close()

    @property
    def conversation(self):
        """The main requests in order of arrival, without side requests and probes."""
        with self.lock:
            return [r for r in self.requests if r.act is not None and not r.side]

    @property
    def sides(self):
        """The side requests that reached a conversation route."""
        with self.lock:
            return [r for r in self.requests if r.side]

    def accept(self):
        """One thread per connection."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        """Requests of one connection, one after another."""
        with connection, connection.makefile("rb") as reader:
            try:
                while (request := read_request(reader)) is not None:
                    if not self.answer(connection, request):
                        return
            except OSError:
                return  # The other side has left, which is its right.

    def answer(self, connection, request):
        """Answers one request; False ends the connection."""
        wire = request.format
        if request.method != "POST" or wire is None:
            with self.lock:
                self.requests.append(request)
            send(connection, *elsewhere(request))
            return True
        with self.lock:
            request.side = self.is_side(request)
            # A context that overflows does so for whoever sends it, also for a client that wants to sum it up.
            full = getattr(self.acts[0], "kind", "").startswith("overflow") if self.acts else False
            begun = any(earlier.act is not None and not earlier.side for earlier in self.requests)
            takes = self.acts and (not request.side or (full and begun))
            request.act = self.acts.pop(0) if takes else Say("A short answer.")
            self.requests.append(request)
        return play(connection, wire, request)


def elsewhere(request):
    """What the paths beside the conversation say: a model list, a token count, nothing."""
    path = request.path.split("?")[0]
    if path == "/v1/models":
        return 200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "test"}]}
    if path == "/v1/messages/count_tokens":
        return 200, {"input_tokens": len(request.body) // 4}
    return 404, {"error": {"message": "not found", "type": "not_found_error"}}


def play(connection, wire, request):
    """Carries out the request's act in the request's own format; False ends the connection."""
    act, body = request.act, request.json
    if isinstance(act, Fail):
        send(connection, act.status, wire.error(act.status, act.kind), act.headers)
        return True
    if isinstance(act, Silence):
        time.sleep(act.seconds)
    call = (act.name, act.arguments(body) if callable(act.arguments) else act.arguments) if isinstance(act, Call) else None
    words = getattr(act, "words", "")
    if not body.get("stream"):
        if isinstance(act, Drop):
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n{\"id\":")
            reset(connection)
            return False
        send(connection, 200, wire.whole(body, words, call))
        return True
    events = wire.stream(body, words, call)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    for number, event in enumerate(events):
        if isinstance(act, Drop) and wire.is_text(event) and number > 2:
            time.sleep(0.1)  # What was sent before a reset may be lost with it; let it arrive.
            reset(connection)
            return False
        chunk = event.encode()
        connection.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
    connection.sendall(b"0\r\n\r\n")
    return True


def reset(connection):
    """Ends a connection with RST: a crash, not an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.shutdown(socket.SHUT_RD)
    connection.close()


def send(connection, status, body, headers=()):
    """A whole JSON answer."""
    data = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Scripted", "content-type: application/json", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)


def read_request(reader):
    """The next request of a connection, None at its end. Also reads what the tap has recorded."""
    line = reader.readline()
    if not line.strip():
        return None
    method, path, _ = line.decode().split(" ", 2)
    headers = read_headers(reader)
    return Recorded(time.monotonic(), method, path, headers, read_body(reader, headers))


def read_headers(reader):
    """Header lines up to the empty one, names in lower case."""
    headers = {}
    while (line := reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return headers


def read_body(reader, headers):
    """A body of stated length or in chunks."""
    if "chunked" not in headers.get("transfer-encoding", "").lower():
        return reader.read(int(headers.get("content-length", 0)))
    parts = []
    while size := int(reader.readline().split(b";")[0].strip() or b"0", 16):
        parts.append(reader.read(size))
        reader.readline()
    reader.readline()
    return b"".join(parts)
