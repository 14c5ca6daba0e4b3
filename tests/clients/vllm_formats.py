"""The three formats as the cases of the vLLM stage write and read them.

Each class writes the same conversation and reads the same things out of an answer, streamed or not, so that one case
can be put to every pair of client and backend.
"""

import dataclasses
import json

from wire import chat_text, messages_text, responses_text

SYSTEM = "You are a careful assistant. Answer in one short sentence."
# The tool is strict in every format: vLLM holds a call's arguments to the schema only then, and SmolLM2 alone answers
# with the schema itself. Enumerations throughout: a 135M model that may write any number writes digits until its tokens
# are used up.
TOOL = {
    "name": "tide_level",
    "description": "Returns the water level at a harbour.",
    "schema": {
        "type": "object",
        "properties": {
            "harbour": {"type": "string", "enum": ["north", "south"]},
            "minute": {"type": "integer", "enum": [0, 15, 30]},
        },
        "required": ["harbour", "minute"],
        "additionalProperties": False,
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"level": {"type": "integer", "enum": [1, 2, 3]}, "rising": {"type": "boolean"}},
    "required": ["level", "rising"],
    "additionalProperties": False,
}


@dataclasses.dataclass
class Call:
    """A tool call as the client sees it; `arguments` is text, and `why` the reason for which the answer stopped."""

    id: str
    name: str
    arguments: str
    why: str


class Chat:
    """Chat completions."""

    name = "chat"
    path = "/v1/chat/completions"
    text = staticmethod(chat_text)

    def body(self, question, limit):
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
        return {"messages": messages, "max_tokens": limit}

    def tools(self, named):
        function = {"name": TOOL["name"], "description": TOOL["description"], "parameters": TOOL["schema"],
                    "strict": True}
        choice = {"type": "function", "function": {"name": TOOL["name"]}} if named else "required"
        return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}

    def schema(self):
        wanted = {"name": "level", "schema": SCHEMA, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}

    def result(self, question, call, result, limit):
        body = self.body(question, limit)
        made = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        body["messages"] += [{"role": "assistant", "content": None, "tool_calls": [made]},
                             {"role": "tool", "tool_call_id": call.id, "content": result}]
        return body | self.tools(False) | {"tool_choice": "none"}

    def call(self, reply):
        if reply.kind != "text/event-stream":
            choice = reply.json["choices"][0]
            made = choice["message"]["tool_calls"][0]
            return Call(made["id"], made["function"]["name"], made["function"]["arguments"], choice["finish_reason"])
        call = Call("", "", "", "")
        for choice in (choice for event in reply.payloads for choice in event["choices"]):
            call.why = choice.get("finish_reason") or call.why
            for part in choice["delta"].get("tool_calls") or []:
                function = part.get("function") or {}
                call.id = part.get("id") or call.id
                call.name = call.name or function.get("name") or ""
                call.arguments += function.get("arguments") or ""
        return call

    def usage(self, reply):
        """(whole prompt, of it cached); None where it is not said."""
        found = [reply.json] if reply.kind != "text/event-stream" else reply.payloads
        usage = [event["usage"] for event in found if event.get("usage")][-1]
        return usage["prompt_tokens"], (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0

    def faults(self, reply):
        """What is wrong with a stream, as the strictest clients see it."""
        why = [choice.get("finish_reason") for event in reply.payloads for choice in event["choices"]]
        yield from expect([
            ("no [DONE] at the end", reply.events[-1][1] == "[DONE]"),
            ("not exactly one finish_reason", len([one for one in why if one]) == 1),
        ])


class Messages:
    """Messages."""

    name = "messages"
    path = "/v1/messages"
    text = staticmethod(messages_text)

    def body(self, question, limit):
        return {"system": SYSTEM, "messages": [{"role": "user", "content": question}], "max_tokens": limit}

    def tools(self, named):
        tool = {"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["schema"],
                "strict": True}
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL["name"]} if named else {"type": "any"}}

    def schema(self):
        return {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}

    def result(self, question, call, result, limit):
        body = self.body(question, limit)
        made = {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        body["messages"] += [{"role": "assistant", "content": [made]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": result}]}]
        return body | self.tools(False) | {"tool_choice": {"type": "none"}}

    def call(self, reply):
        if reply.kind != "text/event-stream":
            made = next(block for block in reply.json["content"] if block["type"] == "tool_use")
            return Call(made["id"], made["name"], json.dumps(made["input"]), reply.json["stop_reason"])
        call = Call("", "", "", "")
        for event in reply.payloads:
            if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
                call.id, call.name = event["content_block"]["id"], event["content_block"]["name"]
            elif event["type"] == "content_block_delta":
                call.arguments += event["delta"].get("partial_json", "")
            elif event["type"] == "message_delta":
                call.why = event["delta"]["stop_reason"]
        return call

    def usage(self, reply):
        """(whole prompt, of it cached). The last report counts: a converted stream cannot know it at its start."""
        if reply.kind != "text/event-stream":
            reports = [reply.json["usage"]]
        else:
            reports = [e["message"]["usage"] if e["type"] == "message_start" else e["usage"]
                       for e in reply.payloads if e["type"] in ("message_start", "message_delta")]
        usage = {key: value for report in reports for key, value in report.items() if value is not None}
        cached = usage.get("cache_read_input_tokens", 0)
        return usage["input_tokens"] + cached + usage.get("cache_creation_input_tokens", 0), cached

    def faults(self, reply):
        """What is wrong with a stream, as the strictest clients see it."""
        events = reply.payloads
        starts = [e["index"] for e in events if e["type"] == "content_block_start"]
        stops = [e["index"] for e in events if e["type"] == "content_block_stop"]
        message = events[0].get("message", {})
        ends = [e for e in events if e["type"] == "message_delta"]
        yield from expect([
            ("message_start is not first", events[0]["type"] == "message_start"),
            ("message_start without empty content and usage", message.get("content") == [] and message.get("usage")),
            ("event names differ from types", all(name == json.loads(data)["type"] for name, data in reply.events)),
            (f"indices are not dense: {starts}", starts == list(range(len(starts)))),
            (f"blocks started {starts}, stopped {stops}", stops == starts),
            ("not one message_delta with stop_reason and usage",
             len(ends) == 1 and ends[0]["delta"].get("stop_reason") and ends[0].get("usage")),
            ("message_stop is not last", events[-1]["type"] == "message_stop"),
        ])


class Responses:
    """Responses."""

    name = "responses"
    path = "/v1/responses"
    text = staticmethod(responses_text)

    def body(self, question, limit):
        return {"instructions": SYSTEM, "max_output_tokens": limit, "store": False,
                "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]}]}

    def tools(self, named):
        tool = {"type": "function", "name": TOOL["name"], "description": TOOL["description"],
                "parameters": TOOL["schema"], "strict": True}
        return {"tools": [tool], "tool_choice": {"type": "function", "name": TOOL["name"]} if named else "required"}

    def schema(self):
        return {"text": {"format": {"type": "json_schema", "name": "level", "schema": SCHEMA, "strict": True}}}

    def result(self, question, call, result, limit):
        body = self.body(question, limit)
        body["input"] += [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments},
            {"type": "function_call_output", "call_id": call.id, "output": result}]
        return body | self.tools(False) | {"tool_choice": "none"}

    def whole(self, reply):
        """The response object, streamed or not."""
        if reply.kind != "text/event-stream":
            return reply.json
        ends = ("response.completed", "response.incomplete")
        return next(event["response"] for event in reply.payloads if event["type"] in ends)

    def call(self, reply):
        response = self.whole(reply)
        items = response["output"]
        if reply.kind == "text/event-stream":
            items = [event["item"] for event in reply.payloads if event["type"] == "response.output_item.done"]
        made = next(item for item in items if item["type"] == "function_call")
        return Call(made["call_id"], made["name"], made["arguments"], response["status"])

    def usage(self, reply):
        """(whole prompt, of it cached)."""
        usage = self.whole(reply)["usage"]
        return usage["input_tokens"], (usage.get("input_tokens_details") or {}).get("cached_tokens") or 0

    def faults(self, reply):
        """What is wrong with a stream, as the strictest clients see it."""
        types = [event["type"] for event in reply.payloads]
        numbers = [event.get("sequence_number") for event in reply.payloads]
        yield from expect([
            ("response.created is not first", types[0] == "response.created"),
            ("event names differ from types", all(name == json.loads(data)["type"] for name, data in reply.events)),
            ("sequence numbers do not count up", all(a is not None and b == a + 1 for a, b in zip(numbers, numbers[1:]))),
            ("items added and done differ",
             types.count("response.output_item.added") == types.count("response.output_item.done") > 0),
            ("the last event ends no response", types[-1] in ("response.completed", "response.incomplete")),
        ])


def expect(cases):
    """The names of the cases that do not hold."""
    return [name for name, holds in cases if not holds]


FORMATS = {one.name: one for one in (Chat(), Messages(), Responses())}
