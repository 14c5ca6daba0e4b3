"""A gateway in front of another one: Claude Code -> Muninn -> LiteLLM -> llama.cpp, and a stream all the way back.

The supported shape for a company: one Muninn per developer, in front of a LiteLLM that all share. LiteLLM takes messages
and asks llama.cpp for chat completions, so that the block passes through a foreign conversion too.
"""

import os
import secrets
import socket
import subprocess

from children import KNOWN_WINDOW, MODEL, end, wait_for
from fixture import QUESTIONS
from wire import Endpoint

import invariants
from client_claude import ClaudeCode
from place import place
from programs import dist_version
from tap import Tap

CONFIGURATION = """model_list:
  - model_name: {model}
    litellm_params:
      model: hosted_vllm/{model}
      api_base: {url}/v1
      api_key: dummy
litellm_settings:
  telemetry: false
  num_retries: 0
"""
# Nothing to fetch: its price list is in the package, and so is the rest.
ENVIRONMENT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "DISABLE_ADMIN_UI": "True",
               "NO_DOCS": "True", "LITELLM_LOG": "ERROR"}
# LiteLLM refuses to start without a key of this shape; it is configured for one backend, and made anew for each run.
KEY = "sk-" + secrets.token_hex(32)
START_SECONDS = 150


def start_litellm(lane, url, installs):
    """Starts the proxy in front of a model server, and waits until it answers."""
    directory = lane.work / "litellm"
    directory.mkdir()
    config = directory / "config.yaml"
    config.write_text(CONFIGURATION.format(model=MODEL, url=url))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = os.environ | ENVIRONMENT | {"LITELLM_MASTER_KEY": KEY, "HOME": str(directory)}
    del environment["PYTHONPATH"]  # Our modules are not to be found by a foreign program.
    command = [installs / "litellm" / "bin" / "litellm", "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    with open(directory / "litellm.log", "wb") as log:
        child = subprocess.Popen([str(part) for part in command], cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 env=environment)
    lane.children.callback(end, child)
    endpoint = Endpoint(f"http://127.0.0.1:{port}")

    def alive():
        if child.poll() is not None:
            raise RuntimeError("LiteLLM ended: " + (directory / "litellm.log").read_text(errors="replace")[-1500:])
        try:
            return endpoint.get("/health/liveliness").status == 200
        except OSError:
            return False

    wait_for("LiteLLM", alive, START_SECONDS, pause=0.3)
    return endpoint


def prove(lane, installs, row):
    """Two turns of a session through both gateways."""
    behind = Tap(lane.llama().address)
    lane.children.callback(behind.close)
    litellm = start_litellm(lane, behind.url, installs)
    between = Tap(litellm.address)
    lane.children.callback(between.close)
    client = ClaudeCode(installs, "claude-2.1.329", MODEL, True)
    version = dist_version(installs / "litellm", "litellm")
    with row(client, f"LiteLLM {version} -> llama.cpp", "two turns") as label:
        checks = lane.checks
        with place(label, lane=lane, backend=between.url, dialect="anthropic", model=MODEL, window=KNOWN_WINDOW,
                   key=KEY) as where:
            questions = [question for question, _ in QUESTIONS[:2]]
            outcome = client.converse(where, questions, small=True, model=MODEL)
            checks.equal(f"{label}: exit status ({outcome.error[:200]})", outcome.status, 0)
            checks.check(f"{label}: two answers", len([a for a in outcome.answers if a.strip()]) == 2, outcome.answers)
            streamed = [len(e.body.split(b"\n\n")) for e in where.exchanges
                        if e.headers.get("content-type", "").startswith("text/event-stream")]
            checks.check(f"{label}: streamed", len(streamed) == len(where.exchanges) and min(streamed, default=0) > 5, streamed)
            reached = [e.request for e in between.exchanges if e.request.method == "POST" and e.request.format]
            pairs = list(zip([e.request for e in where.exchanges], reached))
            checks.equal(f"{label}: each prompt once", (len(pairs), len(reached)), (2, 2))
            checks.check(f"{label}: prompts were compared", invariants.check(checks, label, pairs, 2, False) == 1)
            last = [e.request for e in behind.exchanges if e.request.method == "POST"][-1:]
            found = [len(invariants.blocks(request.json)) for request in last]
            checks.equal(f"{label}: both blocks reached the model", found, [2])
