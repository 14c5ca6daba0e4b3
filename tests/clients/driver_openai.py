"""A conversation through openai-python. Reads its orders as JSON on stdin, prints what came of it as JSON.

Orders: url, wire ("chat" or "responses"), stream, model, prompts, tool (a tool's name or null). The history is resent as
the library gave it, which is how programs on top of it work. Exit status 3 says that the library raised an error.
"""

import json
import pathlib
import sys

import openai

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def chat(client, orders, messages):
    """One answer of chat completions: (text, calls as (id, arguments)); the answer joins the history."""
    tool = orders["tool"] and {"type": "function", "function": {"name": orders["tool"], "parameters": PARAMETERS}}
    request = {"model": orders["model"], "messages": messages, "max_tokens": 48, **({"tools": [tool]} if tool else {})}
    if orders["stream"]:
        with client.chat.completions.stream(**request, stream_options={"include_usage": True}) as events:
            for _ in events:
                pass
            answer = events.get_final_completion()
        if answer.usage is None:
            raise ValueError("a stream without usage")
    else:
        answer = client.chat.completions.create(**request)
    message = answer.choices[0].message
    messages.append(message.to_dict(exclude_none=True) if not orders["stream"] else plain(message))
    return message.content or "", [(call.id, call.function.arguments) for call in message.tool_calls or []]


def plain(message):
    """A streamed message without what the library's own parsing put into it."""
    calls = [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
             for c in message.tool_calls or []]
    return {"role": "assistant", "content": message.content, **({"tool_calls": calls} if calls else {})}


def responses(client, orders, items):
    """One answer of responses: (text, calls as (id, arguments)); the answer's items join the history."""
    tool = orders["tool"] and {"type": "function", "name": orders["tool"], "parameters": PARAMETERS, "strict": False}
    request = {"model": orders["model"], "input": items, "max_output_tokens": 48, "store": False,
               **({"tools": [tool]} if tool else {})}
    if orders["stream"]:
        with client.responses.stream(**request) as events:
            for _ in events:
                pass
            answer = events.get_final_response()
    else:
        answer = client.responses.create(**request)
    if answer.status != "completed":
        raise ValueError(f"{answer.status}: {answer.error}")
    for item in answer.output:
        given = item.to_dict(exclude_none=True)
        given.pop("parsed_arguments", None)
        for part in given.get("content", []):
            part.pop("parsed", None)
        items.append(given)
    return answer.output_text, [(item.call_id, item.arguments) for item in answer.output if item.type == "function_call"]


def result_of(wire, identifier, arguments):
    """What a tool's result looks like in the history."""
    text = pathlib.Path(json.loads(arguments)["path"]).read_text()
    if wire == "chat":
        return {"role": "tool", "tool_call_id": identifier, "content": text}
    return {"type": "function_call_output", "call_id": identifier, "output": text}


def main():
    orders = json.load(sys.stdin)
    client = openai.OpenAI(base_url=orders["url"] + "/v1", api_key="dummy")
    ask = {"chat": chat, "responses": responses}[orders["wire"]]
    history, answers, error = [], [], ""
    try:
        for prompt in orders["prompts"]:
            history.append({"role": "user", "content": prompt})
            text, calls = ask(client, orders, history)
            while calls:
                history += [result_of(orders["wire"], *call) for call in calls]
                text, calls = ask(client, orders, history)
            answers.append(text)
    except Exception as caught:  # Whatever the library raises is what is wanted here.
        error = f"{type(caught).__name__}: {caught}"
    print(json.dumps({"answers": answers, "error": error}))
    return 3 if error else 0


if __name__ == "__main__":
    sys.exit(main())
