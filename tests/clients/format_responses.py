"""Responses, as a model server writes them, and as the invariants read them."""

import json

from format_chat import error as chat_error
from format_chat import halves, normal, pieces

NAME = "responses"
PATH = "/v1/responses"
OVERFLOW = "context_length_exceeded"


def whole(body, words, call, status="completed"):
    """An answer in one piece."""
    done = status == "completed"
    return {"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": body["model"],
            "output": output(words, call) if done else [], "usage": usage() if done else None, "error": None,
            "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
            "tool_choice": "auto", "tools": [], "temperature": 1.0, "top_p": 1.0}


def output(words, call):
    """The items of an answer."""
    items = []
    if words:
        items.append({"type": "message", "id": "msg_scripted1", "status": "completed", "role": "assistant",
                      "content": [{"type": "output_text", "text": words, "annotations": []}]})
    if call:
        # A tool of an MCP server is named `namespace/name` in a scenario.
        namespace, _, name = call[0].rpartition("/")
        items.append({"type": "function_call", "id": "fc_scripted1", "call_id": "call_scripted1", "status": "completed",
                      **({"namespace": namespace} if namespace else {}), "name": name, "arguments": json.dumps(call[1])})
    return items


def usage():
    """Some usage."""
    return {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}


def stream(body, words, call):
    """The events of a streamed answer, each with its closing blank line."""
    events = []

    def event(kind, /, **fields):
        data = {"type": kind, "sequence_number": len(events), **fields}
        events.append(f"event: {kind}\ndata: {json.dumps(data)}\n\n")

    event("response.created", response=whole(body, "", None, "in_progress"))
    event("response.in_progress", response=whole(body, "", None, "in_progress"))
    for index, item in enumerate(output(words, call)):
        where = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            part = {**where, "content_index": 0}
            event("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []})
            event("response.content_part.added", **part, part={"type": "output_text", "text": "", "annotations": []})
            for word in pieces(words):
                event("response.output_text.delta", **part, delta=word, logprobs=[])
            event("response.output_text.done", **part, text=words, logprobs=[])
            event("response.content_part.done", **part, part=item["content"][0])
        else:
            event("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "arguments": ""})
            for text in halves(item["arguments"]):
                event("response.function_call_arguments.delta", **where, delta=text)
            event("response.function_call_arguments.done", **where, name=item["name"], arguments=item["arguments"])
        event("response.output_item.done", output_index=index, item=item)
    event("response.completed", response=whole(body, words, call))
    return events


def is_text(text):
    """Whether an event carries words of the answer."""
    return "event: response.output_text.delta" in text


def error(status, kind):
    """An error's body, which is chat's."""
    return chat_error(status, kind)


def entries(body):
    """The conversation as comparable values, ids of items and string-or-list aside."""
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    found = []
    for item in items:
        if item.get("role") in ("system", "developer"):
            continue
        item = {key: value for key, value in item.items() if key not in ("id", "status")}
        if isinstance(item.get("content"), str):
            kind = "output_text" if item.get("role") == "assistant" else "input_text"
            item["content"] = [{"type": kind, "text": item["content"]}]
        if "role" in item:
            item["type"] = "message"
        found.append(normal(item))
    return found


def system(body):
    """The system text, all of it."""
    texts = [body.get("instructions") or ""]
    for item in body["input"] if isinstance(body["input"], list) else []:
        if item.get("role") in ("system", "developer"):
            content = item["content"]
            texts += [content] if isinstance(content, str) else [part["text"] for part in content]
    return "\n".join(text for text in texts if text)


def tools(body):
    """The names of the function tools; one in a namespace as the formats without namespaces have to call it."""
    names = []
    for tool in body.get("tools") or []:
        if tool.get("type") == "function":
            names.append(tool["name"])
        elif tool.get("type") == "namespace":
            names += [f"{tool['name']}__{inner['name']}" for inner in tool["tools"]]
    return names
