"""Messages, as a model server writes them, and as the invariants read them."""

import json

from format_chat import halves, normal, pieces

NAME = "messages"
PATH = "/v1/messages"
OVERFLOW = "prompt is too long"


def whole(body, words, call):
    """An answer in one piece."""
    content = [{"type": "text", "text": words}] if words else []
    if call:
        content.append({"type": "tool_use", "id": f"toolu_scripted{number(body)}", "name": call[0], "input": call[1]})
    return {"id": f"msg_{number(body)}", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": usage()}


def number(body):
    """What the ids of an answer end in. To Claude Code answers of the same id are parts of one, whatever lay between them."""
    return len(body["messages"])


def usage():
    """Some usage."""
    return {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def stream(body, words, call):
    """The events of a streamed answer, each with its closing blank line."""
    start = {**whole(body, "", None), "content": [], "stop_reason": None, "usage": {**usage(), "output_tokens": 1}}
    events = [event("message_start", message=start)]
    index = 0
    if words:
        events.append(event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
        events += [event("content_block_delta", index=0, delta={"type": "text_delta", "text": word}) for word in pieces(words)]
        events.append(event("content_block_stop", index=0))
        index = 1
    if call:
        block = {"type": "tool_use", "id": f"toolu_scripted{number(body)}", "name": call[0], "input": {}}
        events.append(event("content_block_start", index=index, content_block=block))
        events += [event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": part})
                   for part in halves(json.dumps(call[1]))]
        events.append(event("content_block_stop", index=index))
    reason = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    events.append(event("message_delta", delta=reason, usage={"output_tokens": 10}))
    return [*events, event("message_stop")]


def event(name, **fields):
    """One named event."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n"


def is_text(text):
    """Whether an event carries words of the answer."""
    return "text_delta" in text


def error(status, kind):
    """An error's body."""
    names = {400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}
    message = "prompt is too long: 210000 tokens > 200000 maximum" if kind.startswith("overflow") else f"scripted: {kind}"
    return {"type": "error", "error": {"type": names.get(status, "api_error"), "message": message}}


def entries(body):
    """The conversation as comparable values, cache markers and string-or-list aside."""
    return [normal(message) for message in body["messages"]]


def system(body):
    """The system text, all of it."""
    given = body.get("system") or ""
    return given if isinstance(given, str) else "\n".join(block["text"] for block in given)


def tools(body):
    """The names of the client's tools."""
    return [tool["name"] for tool in body.get("tools") or [] if tool.get("type", "custom") == "custom"]
