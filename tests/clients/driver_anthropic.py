"""A conversation through anthropic-python; orders and results as in driver_openai.py."""

import json
import pathlib
import sys

import anthropic

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def ask(client, orders, messages):
    """One answer: (text, calls as (id, input)); the answer joins the history."""
    tools = [{"name": orders["tool"], "description": "Reads a file.", "input_schema": PARAMETERS}] if orders["tool"] else []
    request = {"model": orders["model"], "messages": messages, "max_tokens": 48, "system": "Be brief.",
               **({"tools": tools} if tools else {})}
    if orders["stream"]:
        with client.messages.stream(**request) as events:
            for _ in events:
                pass
            answer = events.get_final_message()
    else:
        answer = client.messages.create(**request)
    content = [{key: value for key, value in block.to_dict().items() if key in ("type", "text", "id", "name", "input")}
               for block in answer.content]
    messages.append({"role": "assistant", "content": content})
    text = "".join(block.text for block in answer.content if block.type == "text")
    return text, [(block.id, block.input) for block in answer.content if block.type == "tool_use"]


def main():
    orders = json.load(sys.stdin)
    client = anthropic.Anthropic(base_url=orders["url"], api_key="dummy")
    history, answers, error = [], [], ""
    try:
        for prompt in orders["prompts"]:
            history.append({"role": "user", "content": prompt})
            text, calls = ask(client, orders, history)
            while calls:
                history.append({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": identifier, "content": pathlib.Path(given["path"]).read_text()}
                    for identifier, given in calls]})
                text, calls = ask(client, orders, history)
            answers.append(text)
    except Exception as caught:  # Whatever the library raises is what is wanted here.
        error = f"{type(caught).__name__}: {caught}"
    print(json.dumps({"answers": answers, "error": error}))
    return 3 if error else 0


if __name__ == "__main__":
    sys.exit(main())
