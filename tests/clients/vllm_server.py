"""vLLM as a child of the stage: one server for all groups, since it takes a minute to start."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from children import MODEL, StageError
from wire import Endpoint

HERE = pathlib.Path(__file__).resolve().parent
START_SECONDS = 420
STOP_SECONDS = 20
# Tokens of a cache block: what is cached is a multiple of it.
BLOCK = 32
WINDOW = 8192


def command(model, port):
    """The server's command line. Details of prompt tokens are off by default, and cached tokens are among them."""
    return [
        sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", model, "--served-model-name", MODEL,
        "--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(WINDOW), "--max-num-seqs", "8",
        "--enforce-eager", "--dtype", "bfloat16", "--enable-prompt-tokens-details", "--block-size", str(BLOCK),
        "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
        # What names no temperature, as an exploration does, says the same each time.
        "--override-generation-config", '{"temperature": 0}',
        "--chat-template", str(HERE / "vllm_template.jinja"),
    ]


@contextlib.contextmanager
def serving(model, directory):
    """Starts the server and waits until it is healthy; ends it and its engine however the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    log_path = directory / "vllm.log"
    with open(log_path, "wb") as log:
        # A session of its own: the engine is a child of the server, and both must end.
        child = subprocess.Popen(
            command(model, port), cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        endpoint = Endpoint(f"http://127.0.0.1:{port}")
        started = time.monotonic()
        wait_until_healthy(child, endpoint, log_path)
        print(f"vLLM ready after {time.monotonic() - started:.0f} s", flush=True)
        yield endpoint
    finally:
        end(child)


def wait_until_healthy(child, endpoint, log_path):
    """Waits for /health; raises with the log's end when the server dies or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        with contextlib.suppress(OSError):
            if endpoint.get("/health").status == 200:
                return
        time.sleep(0.5)
    tail = log_path.read_text(errors="replace")[-3000:]
    raise StageError(f"vLLM is not healthy (exit status {child.poll()}); its log ends:\n{tail}")


def end(child):
    """Ends the server politely, then whatever is left of its session."""
    if child.poll() is None:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def prefix_cache(endpoint):
    """(tokens looked up, tokens found) of the server's prefix cache since it started."""
    sums = {"vllm:prefix_cache_queries_total": 0.0, "vllm:prefix_cache_hits_total": 0.0}
    for line in endpoint.get("/metrics").body.decode().splitlines():
        name = line.split("{")[0].split(" ")[0]
        if name in sums:
            sums[name] += float(line.rsplit(" ", 1)[1])
    return tuple(int(value) for value in sums.values())
