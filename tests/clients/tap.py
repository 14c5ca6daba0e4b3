"""A tap between a client and the gateway: passes bytes on as they come, and keeps a copy of both directions.

Only with the client's own bytes beside the upstream's can it be said that nothing was touched. The copies are read as
HTTP when the scenario is over, so that the tap has no opinion of its own about what passes.
"""

import bisect
import contextlib
import dataclasses
import io
import json
import re
import socket
import threading
import time

from scripted import Recorded, read_body, read_headers, read_request


@dataclasses.dataclass
class Exchange:
    """A request of the client, and what the gateway answered: status 0 where no answer came."""

    request: Recorded
    status: int
    headers: dict
    body: bytes


class Copy:
    """The bytes of one direction, and when they came."""

    def __init__(self):
        self.data = bytearray()
        self.offsets = []
        self.times = []

    def add(self, chunk):
        """Keeps a chunk."""
        self.offsets.append(len(self.data))
        self.times.append(time.monotonic())
        self.data += chunk

    def time_at(self, offset):
        """When the byte at an offset came."""
        return self.times[bisect.bisect_right(self.offsets, offset) - 1]


class Tap:
    """Listens on a free port of loopback, and connects every client to `target`, which is `host:port`."""

    def __init__(self, target):
        self.target = target
        self.copies = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        """Stops listening."""
        self.listener.close()

    def accept(self):
        """Two threads per connection, one for each direction."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            host, port = self.target.split(":")
            server = socket.create_connection((host, int(port)))
            copies = (Copy(), Copy())
            self.copies.append(copies)
            for source, sink, copy in ((client, server, copies[0]), (server, client, copies[1])):
                for end in (source, sink):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=relay, args=(source, sink, copy), daemon=True).start()

    @property
    def exchanges(self):
        """What was said so far, in the order in which it was asked."""
        found = [exchange for copies in list(self.copies) for exchange in read_exchanges(*copies)]
        return sorted(found, key=lambda exchange: exchange.request.at)


def relay(source, sink, copy):
    """Passes one direction on until it ends, and passes the end on too."""
    try:
        while chunk := source.recv(65536):
            copy.add(chunk)
            sink.sendall(chunk)
    except OSError:
        with contextlib.suppress(OSError):
            source.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def read_exchanges(asked, answered):
    """The exchanges of one connection."""
    requests, answers = io.BytesIO(bytes(asked.data)), io.BytesIO(bytes(answered.data))
    while True:
        offset = requests.tell()
        try:
            request = read_request(requests)
        except ValueError:
            return  # What follows an upgrade, or a request cut short, is not HTTP.
        if request is None:
            return
        request.at = asked.time_at(offset)
        exchange = Exchange(request, *read_answer(answers, request.method))
        yield exchange
        if exchange.status == 101:
            yield from over_websocket(request, read_frames(requests, asked), read_frames(answers, answered))
            return


def read_answer(answers, method):
    """(status, headers, body) of the next answer; what was cut short is given as far as it came."""
    line = answers.readline()
    if not line.strip():
        return 0, {}, b""
    status, headers = int(line.split()[1]), read_headers(answers)
    if status == 100:
        return read_answer(answers, method)
    if method == "HEAD" or status in (101, 204, 304):
        return status, headers, b""
    if not {"content-length", "transfer-encoding"} & set(headers):
        return status, headers, answers.read()
    start = answers.tell()
    try:
        return status, headers, read_body(answers, headers)
    except ValueError:
        answers.seek(start)
        return status, headers, answers.read()


def read_frames(stream, copy):
    """(time, text) of each text frame of a WebSocket; none of these has an extension."""
    text = b""
    while len(head := stream.read(2)) == 2:
        final, kind, masked, length = head[0] & 0x80, head[0] & 0xF, head[1] & 0x80, head[1] & 0x7F
        if length >= 126:
            length = int.from_bytes(stream.read(2 if length == 126 else 8), "big")
        mask = stream.read(4) if masked else b""
        data = stream.read(length)
        if len(data) < length:
            return
        if masked:
            repeated = (mask * (length // 4 + 1))[:length]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(length, "big")
        if kind in (0, 1):
            text += data
            if final:
                yield copy.time_at(stream.tell() - 1), text.decode()
                text = b""


def members(text):
    """(name, JSON of the value) of each member of an object, as it is written."""
    decoder, at = json.JSONDecoder(), text.index("{") + 1
    blank = re.compile(r"[\s,:]*")
    while True:
        at = blank.match(text, at).end()
        if text[at] == "}":
            return
        name, at = json.decoder.scanstring(text, at + 1)
        start = blank.match(text, at).end()
        _, at = decoder.raw_decode(text, start)
        yield name, text[start:at]


def items(text):
    """The items of a list, as they are written."""
    return text.strip()[1:-1].strip()


def over_websocket(upgrade, asked, answered):
    """Each request over a WebSocket as the one over HTTP that it stands for."""
    answers, kept = list(answered), {}
    for at, frame in asked:
        known = dict(members(frame))
        if known["type"] != '"response.create"':
            continue
        before = kept.get(known.get("previous_response_id"), "")
        conversation = ",".join(part for part in (before, items(known["input"])) if part)
        body = "{" + "".join(f'"{name}":{value},' for name, value in members(frame)
                             if name not in ("type", "previous_response_id", "generate", "input", "stream"))
        body += f'"stream":true,"input":[{conversation}]}}'
        of_this = []
        while answers:
            of_this.append(dict(members(answers.pop(0)[1])))
            if of_this[-1]["type"] in ('"response.completed"', '"response.failed"', '"response.incomplete"', '"error"'):
                break
        done = [event["item"] for event in of_this if event["type"] == '"response.output_item.done"']
        if of_this and "response" in of_this[-1]:
            identifier = json.dumps(json.loads(of_this[-1]["response"])["id"])
            kept = {identifier: ",".join(part for part in (conversation, *done) if part)}
        if known.get("generate") == "false":
            continue
        metadata = [json.loads(event["headers"]) for event in of_this if event["type"] == '"response.metadata"']
        request = dataclasses.replace(upgrade, method="POST", body=body.encode())
        request.at = at
        status = 200 if of_this and of_this[-1]["type"] == '"response.completed"' else 0
        yield Exchange(request, status, metadata[0] if metadata else {}, json.dumps(of_this).encode())
