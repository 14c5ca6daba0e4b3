"""An explorer that knows what it wants: it cites one place for one question, and nothing for any other.

A model that is small enough to run here finds nothing. What is proved with this one is not that exploring finds, but
that what it found enters a conversation without costing the backend's cache.
"""

import contextlib
import http.server
import json
import threading

from children import wait_for


class Explorer(http.server.ThreadingHTTPServer):
    """A model server on loopback that answers chat completions with a call of `final`."""

    def __init__(self, question, place):
        super().__init__(("127.0.0.1", 0), Handler)
        self.question, self.place = question, place

    def settings(self):
        """What makes a gateway explore with it, beside each question."""
        return f"""
[[backends]]
name = "explorer"
url = "http://127.0.0.1:{self.server_address[1]}"
dialect = "chat"
retries = 0

[explore]
mode = "background"
backend = "explorer"
model = "scripted"
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """One request of an exploration."""

    def do_POST(self):
        asked = self.rfile.read(int(self.headers["content-length"])).decode()
        places = [self.server.place] if self.server.question in asked else []
        call = {"id": "call00001", "type": "function",
                "function": {"name": "final", "arguments": json.dumps({"citations": places})}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        body = json.dumps({
            "id": "x", "object": "chat.completion", "created": 1, "model": "scripted",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing: the gateway's log says what it was asked."""


@contextlib.contextmanager
def exploring(question, place):
    """An explorer that runs as long as the block."""
    with Explorer(question, place) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def wait_explored(running, request_id):
    """Waits until what was explored for a request is found, and can come in at the next turn; its receipt's id."""

    def probe():
        done = running.command("why", "--json")
        receipts = json.loads(done.stdout) if done.returncode == 0 else []
        found = [receipt["id"] for receipt in receipts
                 if receipt["outcome"] == "explored" and request_id in (receipt.get("reason") or "")]
        return found[0] if found else None

    return wait_for("the exploration's receipt", probe, 30)
