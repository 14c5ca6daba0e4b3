"""The vLLM stage: muninn in front of a real vLLM, formats native and converted, tool calls and the prefix cache.

Prints one line per check, vLLM's table, and `N passed, N failed` alone on the last line. Started by `vllm`, which
prepares the interpreter, the weights, the binary and the network; every process started here is ended here.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "backends"))

import vllm_cache
import vllm_cases
import vllm_explore
from checks import Checks
from children import KNOWN_WINDOW, MODEL, Stand, start_gateway
from fixture import make_repository, worktree_state
from stage import raise_loopback
from vllm_formats import FORMATS
from vllm_server import serving
from wire import Endpoint

# What vLLM itself speaks, in the words of the configuration.
SPEAKS = {"native": '["openai", "anthropic"]', **{name: f'"{name}"' for name in FORMATS}}
GROUPS = ["native", *FORMATS, "cache", "cache-converted", "explore"]


class Stage:
    """What all groups share: the server, the repository, the binary under test."""

    def __init__(self, server, work, root, muninn):
        self.server, self.work, self.root, self.muninn = server, work, root, muninn

    @contextlib.contextmanager
    def stand(self, name, speaks, more=""):
        """A gateway of its own that speaks only `speaks` to vLLM."""
        directory = self.work / name
        directory.mkdir()
        config = directory / "muninn.toml"
        config.write_text(configuration(self.server, speaks) + more)
        environment = os.environ | {
            "MUNINN_CONFIG": str(config), "HOME": str(directory),
            **{f"XDG_{kind}_HOME": str(directory / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE", "DATA")},
        }
        with contextlib.ExitStack() as children:
            process, gateway = start_gateway(children, directory, self.muninn, self.root, environment)
            yield Stand(self.server, gateway, self.root, directory, self.muninn, environment, process)


def configuration(server, speaks):
    """The gateway's configuration. The deadline is generous: time is not what is measured here."""
    return f"""[[backends]]
name = "vllm"
url = "{server.url}"
dialect = {SPEAKS[speaks]}
default_model = "{MODEL}"
context_window = {KNOWN_WINDOW}

[context]
deadline_ms = 5000
"""


def run_stage(checks, stage, groups):
    """The groups that were asked for."""
    table = {}
    direct = vllm_cases.run_direct(stage.server)
    for group in [one for one in ("native", *FORMATS) if one in groups]:
        backend = None if group == "native" else group
        clients = [name for name in FORMATS if name != backend]
        with checks.group(f"{group}: through muninn"), stage.stand(group, group) as place:
            with checks.group(f"{group}: cases", place.log):
                vllm_cases.run_through(checks, table, place.gateway, backend, clients, direct)
                if "messages" in clients:
                    vllm_cases.run_count_tokens(checks, table, place.gateway, stage.server, backend)
    pairs = [(name, "native") for name in FORMATS] if "cache" in groups else []
    if "cache-converted" in groups:
        pairs += [("messages", "chat"), ("responses", "chat"), ("chat", "messages"), ("messages", "responses")]
    vllm_cache.prove(checks, stage.server, stage.stand, pairs)
    if "explore" in groups:
        vllm_explore.prove(checks, stage.stand)
    vllm_cases.print_table(table)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muninn", required=True, help="the binary under test")
    parser.add_argument("--model", required=True, help="the converted weights")
    parser.add_argument("--groups", default="all", help=f"by comma, of {', '.join(GROUPS)}")
    parser.add_argument("--server", help="the URL of a vLLM that is running already, instead of one of the stage's own")
    parser.add_argument("--own-network", action="store_true", help="this is a fresh network namespace: bring up loopback")
    args = parser.parse_args()
    # `vllm` passes a signal on; as an exception it unwinds through the children and ends them.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if args.own_network:
        raise_loopback()
    groups = GROUPS if args.groups == "all" else args.groups.split(",")
    checks = Checks()
    interfaces = [name for _, name in socket.if_nameindex()]
    print(f"network: {', '.join(interfaces)}{' only' if interfaces == ['lo'] else ' (not isolated)'}", flush=True)
    print(f"load: {os.getloadavg()[0]:.2f} at the start", flush=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="muninn-vllm-"))
    try:
        own = contextlib.nullcontext(Endpoint(args.server)) if args.server else serving(args.model, work)
        with checks.group("stage"), own as server:
            root = make_repository(work / "kelpline")
            before = worktree_state(root)
            run_stage(checks, Stage(server, work, root, args.muninn), groups)
            checks.equal("nothing was written in the worktree", worktree_state(root), before)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"load: {os.getloadavg()[0]:.2f} at the end", flush=True)
    return checks.summary()


if __name__ == "__main__":
    sys.exit(main())
