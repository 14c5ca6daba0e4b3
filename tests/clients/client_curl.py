"""Plain curl: the request is written by hand, the answer read by hand, and errors are what the gateway says."""

import json
import re
import subprocess

from wire import Reply, chat_text, messages_text, responses_text

from programs import converse, run

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
READ = {"chat": chat_text, "messages": messages_text, "responses": responses_text}


class Curl:
    """curl in one wire format. It retries what it is told is transient, honouring retry-after, if it has seen no body."""

    compacts = False
    recovers = False

    def __init__(self, wire):
        self.wire = wire
        self.name = "curl"
        shown = subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True).stdout
        self.version = re.search(r"curl (\S+)", shown)[1]

    @staticmethod
    def is_side(_request):
        """curl asks nothing on its own."""
        return False

    def converse(self, place, prompts, *, stream=True, small=False, model="scripted"):
        """Asks the prompts one by one, resending the history."""
        history = []

        def one(prompt, _):
            history.append({"role": "user", "content": prompt})
            limit = "max_output_tokens" if self.wire == "responses" else "max_tokens"
            body = {"model": model, limit: 48, "stream": stream, "input" if self.wire == "responses" else "messages": history}
            body |= {"stream_options": {"include_usage": True}} if self.wire == "chat" and stream else {}
            command = ["curl", "--silent", "--show-error", "--no-buffer", "--fail-with-body", "--retry", "2", "--max-time", "60",
                       "--header", "content-type: application/json", "--header", "authorization: Bearer dummy",
                       "--write-out", "\n%{content_type}", "--data-binary", "@-", place.url + PATHS[self.wire]]
            status, stdout, stderr = run(command, home=place.home, cwd=place.root, environment={}, stdin=json.dumps(body))
            answer, _, kind = stdout.rpartition("\n")
            if status != 0:
                return status, "", answer + stderr
            reply = Reply(200, {"content-type": kind}, answer.encode())
            if broken := error_event(reply):
                return 1, "", broken
            text = READ[self.wire](reply)
            history.append(answered(self.wire, text))
            return status, text, ""

        return converse(one, prompts)


def answered(wire, text):
    """An answer as history; llama.cpp takes one in the responses format only as a whole item."""
    if wire != "responses":
        return {"role": "assistant", "content": text}
    return {"type": "message", "role": "assistant", "status": "completed", "id": "msg_1",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}


def error_event(reply):
    """An error that came inside a stream, as text; empty without one."""
    if reply.kind != "text/event-stream":
        return ""
    found = [event for event in reply.payloads if "error" in event and event["error"] or event.get("type") == "error"
             or event.get("type") == "response.failed"]
    return json.dumps(found[0]) if found else ""
