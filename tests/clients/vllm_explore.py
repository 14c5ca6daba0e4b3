"""A model that explores by real tool calls: vLLM constrains even a 135M model to make them.

What such a model finds is of no interest here. That its calls are read, made and answered, turn after turn, in each
format that a backend can be asked in, is.
"""

from checks import Checks
from children import MODEL
from fixture import QUESTIONS
from vllm_formats import FORMATS

SETTINGS = """
[explore]
tool_choice = "required"
turns = 3
tokens = 24000
max_answer_tokens = 400
deadline_ms = 240000
"""
DEEP = {"x-muninn-context": "deep"}
ANSWER_TOKENS = 16


def prove(checks: Checks, stand):
    """Explorations for each format of the backend, and their receipts."""
    for backend in FORMATS:
        with checks.group(f"exploring by {backend}"), stand(f"explore-{backend}", backend, more=SETTINGS) as place:
            turns = []
            # One question may have such a model write a single argument until it is cut off.
            for question, right_file in QUESTIONS[:2]:
                with checks.group(question, place.log):
                    turns += explored(checks, place, question, right_file)
            with checks.group("calls", place.log):
                calls = [call for turn in turns for call in turn["calls"]]
                # What a bound cut is no call by the server's account, and may look like any.
                whole = [turn.get("dialect", "") for turn in turns if not turn.get("truncated")]
                checks.check("calls were read in the backend's own form", "native" in whole, turns)
                checks.check("in no other form", set(whole) <= {"native", ""}, whole)
                checks.check("each call was answered", calls and all(call["bytes"] > 0 for call in calls), calls)
                checks.check("a tool answered", any(not call.get("failed") for call in calls), calls)


def explored(checks: Checks, place, question, right_file):
    """The turns of one exploration, whose request is answered whatever the model does."""
    form = FORMATS["chat"]
    reply = place.gateway.post(form.path, {"model": MODEL} | form.body(question, ANSWER_TOKENS), DEEP)
    checks.equal("the request is answered", reply.status, 200)
    receipt = place.receipt(reply.headers["x-muninn-request-id"])
    trace = receipt["exploration"]
    print(place.command("why", receipt["id"]).stdout, flush=True)
    checks.check("the model did not fail", trace["ended"] != "model", trace)
    checks.check("tokens are the backend's count", all(turn["input"] > 500 for turn in trace["turns"]), trace)
    packed = [item["source"].rsplit(":", 1)[0] for item in receipt["items"]]
    checks.check("what words found is packed all the same", right_file in packed, packed)
    return trace["turns"]
