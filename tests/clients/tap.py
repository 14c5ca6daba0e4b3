"""A tap between a client and the gateway: passes bytes on as they come, and keeps a copy of both directions.

Only with the client's own bytes beside the upstream's can it be said that nothing was touched. The copies are read as
HTTP when the scenario is over, so that the tap has no opinion of its own about what passes.
"""

import bisect
import contextlib
import dataclasses
import io
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
        yield Exchange(request, *read_answer(answers, request.method))


def read_answer(answers, method):
    """(status, headers, body) of the next answer; what was cut short is given as far as it came."""
    line = answers.readline()
    if not line.strip():
        return 0, {}, b""
    status, headers = int(line.split()[1]), read_headers(answers)
    if status == 100:
        return read_answer(answers, method)
    if method == "HEAD" or status in (204, 304):
        return status, headers, b""
    if not {"content-length", "transfer-encoding"} & set(headers):
        return status, headers, answers.read()
    start = answers.tell()
    try:
        return status, headers, read_body(answers, headers)
    except ValueError:
        answers.seek(start)
        return status, headers, answers.read()
