"""Chat completions, as a model server writes them, and as the invariants read them."""

import json

NAME = "chat"
PATH = "/v1/chat/completions"
OVERFLOW = "context_length_exceeded"


def whole(body, words, call):
    """An answer in one piece."""
    message = {"role": "assistant", "content": words or None}
    if call:
        message["tool_calls"] = [tool_call(call)]
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}],
            "usage": usage()}


def tool_call(call):
    """A function call with whole arguments."""
    name, arguments = call
    return {"id": "call_scripted1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def usage():
    """Some usage."""
    return {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, "prompt_tokens_details": {"cached_tokens": 0}}


def stream(body, words, call):
    """The events of a streamed answer, each with its closing blank line."""

    def chunk(delta, finish=None):
        return event({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": word}) for word in pieces(words)]
    if call:
        first = tool_call(call)
        text = first["function"]["arguments"]
        first["function"] = {"name": call[0], "arguments": ""}
        events.append(chunk({"tool_calls": [{"index": 0, **first}]}))
        events += [chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}) for part in halves(text)]
    events.append(chunk({}, "tool_calls" if call else "stop"))
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append(event({**common, "choices": [], "usage": usage()}))
    return [*events, "data: [DONE]\n\n"]


def event(data):
    """One event without a name."""
    return f"data: {json.dumps(data)}\n\n"


def is_text(text):
    """Whether an event carries words of the answer."""
    return '"content": "' in text


def pieces(words):
    """Words with the blank before them, as a tokenizer cuts."""
    return [(" " if number else "") + word for number, word in enumerate(words.split(" "))] if words else []


def halves(text):
    """A text in two."""
    middle = len(text) // 2
    return [text[:middle], text[middle:]]


def error(status, kind):
    """An error's body; the overflow wordings are those of OpenAI, vLLM and llama.cpp."""
    if kind == "overflow" or kind == "overflow:openai":
        return {"error": {"message": "This model's maximum context length is 128000 tokens. However, your messages resulted in"
                          " 131000 tokens. Please reduce the length of the messages.", "type": "invalid_request_error",
                          "param": "messages", "code": "context_length_exceeded"}}
    if kind == "overflow:vllm":
        return {"error": {"message": "This model's maximum context length is 128000 tokens. However, you requested 4096 output"
                          " tokens and your prompt contains at least 126001 input tokens, for a total of at least 130097"
                          " tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
                          "type": "BadRequestError", "param": "input_tokens", "code": 400}}
    if kind == "overflow:llama.cpp":
        return {"error": {"code": 400, "message": "request (131000 tokens) exceeds the available context size (128000 tokens),"
                          " try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 131000,
                          "n_ctx": 128000}}
    name = {429: "rate_limit_exceeded", 500: "server_error", 503: "server_error", 529: "server_error"}.get(status)
    return {"error": {"message": f"scripted: {kind}", "type": name or "invalid_request_error", "param": None, "code": name}}


def entries(body):
    """The conversation as comparable values, cache markers and string-or-list aside."""
    return [normal(message) for message in body["messages"] if message["role"] not in ("system", "developer")]


def normal(value):
    """A value without cache markers, with every string content as a list of one text part."""
    if isinstance(value, list):
        return [normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned = {key: normal(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(cleaned.get("content"), str):
        cleaned["content"] = [{"type": "text", "text": cleaned["content"]}]
    return cleaned


def system(body):
    """The system text, all of it."""
    texts = []
    for message in body["messages"]:
        if message["role"] in ("system", "developer"):
            content = message["content"]
            texts += [content] if isinstance(content, str) else [part["text"] for part in content]
    return "\n".join(texts)


def tools(body):
    """The names of the function tools."""
    return [tool["function"]["name"] for tool in body.get("tools") or [] if tool.get("type") == "function"]
