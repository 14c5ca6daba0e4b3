"""Instructions per request, counted by callgrind. See the file run.

Each case has a gateway of its own, so that nothing that goes on behind the answers of one case counts for the next.
"""

import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "backends"))
from network import raise_loopback  # noqa: E402

RECORDED = HERE / "recorded.json"
MOST = 1.05
REQUESTS = 20

WORDS = "The ledger keeps what was added to each turn, so that a later request of the conversation gets the same bytes. "
QUESTION = "How does the TokenBucket refill in the rate limiter?"
SOURCE = """//! A rate limiter after the token bucket scheme.

/// A bucket of tokens that fills up over time.
pub struct TokenBucket { capacity: f64, tokens: f64, per_second: f64 }

impl TokenBucket {
    /// Adds the tokens that have come since the last refill of the rate limiter's bucket.
    pub fn refill(&mut self, elapsed: f64) {
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.capacity);
    }
}
"""
EVENTS = [
    {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock",
     "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 0}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    *[{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"word {n} "}} for n in range(20)],
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 20}},
    {"type": "message_stop"},
]


class Backend(http.server.BaseHTTPRequestHandler):
    """Answers every request of the messages API with the same stream."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS)
        # One write: an answer that arrives in pieces is polled more or less often.
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
        self.wfile.write((head + body).encode())

    def log_message(self, *_):
        pass


def request(converted, size, number):
    """Path and body of a conversation of about `size` bytes whose newest turn asks the question."""
    earlier = [
        {"role": role, "content": f"{number}. {WORDS * (size // 20 // len(WORDS) + 1)}"[: size // 10]}
        for _ in range(4)
        for role in ("user", "assistant")
    ]
    body = {"model": "mock", "stream": True, "messages": [*earlier, {"role": "user", "content": QUESTION}]}
    if converted:
        return "/v1/chat/completions", json.dumps(body).encode()
    return "/v1/messages", json.dumps({**body, "max_tokens": 100}).encode()


CASES = {
    f"{'converted' if converted else 'native'}, {size // 1000} kB, {'context' if context else 'no context'}":
        (converted, size, context)
    for converted in (False, True)
    for size in (2000, 100_000)
    for context in (True, False)
}


class Gateway:
    def __init__(self, folder, backend):
        self.out = folder / "callgrind"
        root = folder / "demo"
        (root / "src").mkdir(parents=True)
        (root / "src/rate_limiter.rs").write_text(SOURCE)
        (folder / "muninn.toml").write_text(
            f'[[backends]]\nname = "mock"\nurl = "http://127.0.0.1:{backend}"\ndialect = "messages"\n'
            "[context]\ndeadline_ms = 60000\nthreshold = 0.0\n"
        )
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "MUNINN_CONFIG": str(folder / "muninn.toml"),
            "MUNINN_STATE_DIR": str(folder / "state"), "MUNINN_CACHE_DIR": str(folder / "cache"),
            "MUNINN_DISCOVER": "0", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
            "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        }
        self.environment = environment
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            subprocess.run(["git", *command], cwd=root, env=environment, check=True)
        self.process = subprocess.Popen(
            ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={self.out}",
             os.environ["COUNTED_BIN"], "serve", "--root", str(root), "--listen", "127.0.0.1:0"],
            env=environment, stdout=subprocess.PIPE, stderr=open(folder / "log", "w"), text=True,
        )
        line = self.process.stdout.readline()
        self.host = line.removeprefix("listening on http://").strip()
        if self.host == line.strip():
            sys.exit(f"the gateway did not start: {(folder / 'log').read_text()}")
        while not self.get("/healthz")["index"].get("settled"):
            time.sleep(0.2)

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.host}{path}", timeout=120) as response:
            return json.load(response)

    def ask(self, case, number):
        converted, size, context = CASES[case]
        path, body = request(converted, size, number)
        mode = "auto" if context else "off"
        head = (
            f"POST {path} HTTP/1.1\r\nhost: {self.host}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"content-length: {len(body)}\r\nx-session-id: {case} {number}\r\nx-muninn-context: {mode}\r\n\r\n"
        )
        host, port = self.host.split(":")
        with socket.create_connection((host, int(port)), timeout=300) as connection:
            connection.sendall(head.encode() + body)
            answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
        outcome = re.search(rb"^x-muninn-context: (\S+)\r$", answer, re.M)[1].decode()
        expected = "injected" if context else "off"
        if outcome != expected:
            sys.exit(f"{case}: the context is {outcome}, not {expected}")

    def control(self, *arguments):
        subprocess.run(["callgrind_control", *arguments, str(self.process.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=self.environment)

    def rest(self):
        """Waits until what goes on behind the answers has ended: the processor's time stays where it is."""
        spent = None
        while spent != (spent := self.spent()):
            time.sleep(0.5)

    def spent(self):
        # User and system time are the 14th and 15th field; the second, a name in parentheses, may hold spaces.
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return fields[11:13]

    def instructions(self, case):
        """Of one request, on average."""
        for number in range(2):
            self.ask(case, number)
        self.rest()
        self.control("--zero")
        for number in range(2, 2 + REQUESTS):
            self.ask(case, number)
        self.rest()
        self.control("--dump")
        dump = self.out.with_name("callgrind.1")
        return int(re.search(r"^(?:totals|summary): (\d+)", dump.read_text(), re.M).group(1)) // REQUESTS

    def stop(self):
        self.process.kill()
        self.process.wait()


def fewest(case, backend, most):
    """The fewest of three gateways, or the first number that is not above `most`.

    How often a waiting request is polled depends on what else the machine does, and never saves an instruction.
    """
    counts = []
    while len(counts) < 3 and (not counts or min(counts) > most):
        with tempfile.TemporaryDirectory() as folder:
            gateway = Gateway(pathlib.Path(folder), backend)
            try:
                counts.append(gateway.instructions(case))
            finally:
                gateway.stop()
    return min(counts)


def main():
    if "--own-network" in sys.argv:
        raise_loopback()
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    found, failed = {}, 0
    for case in CASES:
        most = 0 if "--record" in sys.argv else MOST * recorded.get(case, 0)
        found[case] = fewest(case, backend.server_address[1], most)
        ratio = found[case] / recorded.get(case, found[case])
        failed += ratio > MOST
        print(f"{case:<34} {found[case] / 1e6:8.2f} M instructions a request, {ratio:.3f} of the recorded", flush=True)
    if "--record" in sys.argv:
        RECORDED.write_text(json.dumps(found, indent=2) + "\n")
    elif set(found) != set(recorded) or failed:
        sys.exit(f"{failed} cases need more than {MOST:.0%} of the instructions that are recorded")


main()
