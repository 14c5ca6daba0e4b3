"""The processes of the stage: one llama.cpp and one gateway, started together, ended by id.

A stand has its own server, gateway, configuration and state, so that no conversation can find another one's ledger or
its cached prompt. Starting costs half a second, which is cheaper than reasoning about what was left in a slot.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

from wire import Endpoint

HERE = pathlib.Path(__file__).resolve().parent
MODEL = "smollm2"
# SmolLM2's own limit. The gateway is told half of it: packs follow the window it knows (20% of it each), are counted in
# another tokenizer, and four of them must fit into the slot together with the answers.
SLOT_WINDOW = 8192
KNOWN_WINDOW = 4096
START_SECONDS = 60
STOP_SECONDS = 15


class StageError(Exception):
    """The stage cannot go on: a child did not start, or died."""


def wait_for(what, probe, seconds, pause=0.05):
    """Calls `probe` until it returns something true, and returns that; raises once the time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = probe()
        if found:
            return found
        time.sleep(pause)
    raise StageError(f"{what}: not within {seconds} s")


@dataclasses.dataclass
class Stand:
    """A running pair. `direct` is the backend, `gateway` is Muninn in front of it."""

    direct: Endpoint
    gateway: Endpoint
    root: pathlib.Path
    directory: pathlib.Path
    muninn: str
    environment: dict
    process: subprocess.Popen

    def command(self, *arguments, seconds=60):
        """Runs a `muninn` command with this stand's configuration and state; the completed process, as text."""
        return subprocess.run(
            [self.muninn, *arguments], cwd=self.directory, env=self.environment, text=True, capture_output=True,
            stdin=subprocess.DEVNULL, timeout=seconds, check=False,
        )

    def receipt(self, request_id):
        """The receipt of a request. It is written after the answer's last byte, hence the wait."""

        def probe():
            done = self.command("why", request_id, "--json")
            return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else None

        return wait_for(f"muninn why {request_id} --json", probe, 10)

    def log(self):
        """What the gateway has written on stderr so far."""
        return (self.directory / "gateway.log").read_text(errors="replace")

    def stop_gateway(self):
        """Asks the gateway to drain; its exit status, or None if it had to be killed."""
        self.process.terminate()
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None


@contextlib.contextmanager
def stand(name, *, work, root, muninn, slots=1, more=""):
    """Starts a server and a gateway over `root` in a directory of their own, and ends both however the block ends."""
    directory = work / name
    directory.mkdir()
    with contextlib.ExitStack() as children:
        direct = start_llama(children, directory, slots)
        config = directory / "muninn.toml"
        config.write_text(configuration(direct) + more)
        environment = os.environ | {
            "MUNINN_CONFIG": str(config),
            "HOME": str(directory),
            **{f"XDG_{kind}_HOME": str(directory / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE", "DATA")},
        }
        process, gateway = start_gateway(children, directory, muninn, root, environment)
        yield Stand(direct, gateway, root, directory, muninn, environment, process)


def configuration(direct):
    """The gateway's configuration: one backend that speaks both dialects.

    The deadline is generous: a debug build beside a busy model would miss the usual one now and then, and time is not
    what is measured here.
    """
    return f"""[[backends]]
name = "llama"
url = "{direct.url}"
dialect = ["openai", "anthropic"]
default_model = "{MODEL}"
context_window = {KNOWN_WINDOW}

[context]
deadline_ms = 5000
"""


def start_llama(children, directory, slots, *options):
    """Starts llama.cpp on a free port, with `options` of llama_server.py, and waits until it says that it is healthy."""
    threads = os.environ.get("MUNINN_BACKENDS_THREADS", "1")
    command = [sys.executable, str(HERE / "llama_server.py"), "--parent", str(os.getpid()), "--threads", threads]
    command += ["--alias", MODEL, "--slots", str(slots), "--window", str(SLOT_WINDOW), *options]
    _, endpoint = start(children, "llama", command, directory, dict(os.environ))
    wait_for("llama.cpp's /health", lambda: endpoint.get("/health").status == 200, START_SECONDS)
    return endpoint


def start_gateway(children, directory, muninn, root, environment):
    """Starts `muninn serve` on port 0 and reads its address from stdout."""
    command = [muninn, "serve", "--root", str(root), "--listen", "127.0.0.1:0"]
    return start(children, "gateway", command, directory, environment)


def start(children, name, command, directory, environment):
    """Starts a child whose stdout announces `listening on http://ADDR`; its log is `name`.log in the directory."""
    log_path = directory / f"{name}.log"
    with open(log_path, "wb") as log:
        child = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
            text=True,
        )
    children.callback(end, child)
    lines = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in child.stdout], daemon=True).start()
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(queue.Empty):
            line = lines.get(timeout=0.1).strip()
            if "listening on http://" in line:
                return child, Endpoint("http://" + line.rsplit("http://", 1)[1])
        if child.poll() is not None and lines.empty():
            break
    tail = log_path.read_text(errors="replace")[-2000:]
    raise StageError(f"{name} announced no address (exit status {child.poll()}); its log ends:\n{tail}")


def end(child):
    """Ends one child, politely first."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
    child.wait()
