"""Where a scenario runs: a scripted upstream or llama.cpp, a gateway of its own in front, a tap in front of that.

A gateway per scenario costs half a second, and leaves nothing of one scenario's ledger, circuit or log to another.
"""

import contextlib
import dataclasses
import os
import pathlib
import re

from children import Stand, start_gateway, wait_for
from wire import Endpoint

from tap import Tap

CONVERSATION_PATHS = ("/v1/messages", "/v1/chat/completions", "/v1/responses")


@dataclasses.dataclass
class Place:
    """One running scenario's surroundings. `url` is what the client is pointed at."""

    url: str
    root: pathlib.Path
    home: pathlib.Path
    tap: Tap
    upstream: object
    stand: Stand

    @property
    def exchanges(self):
        """The client's conversation requests with their answers, in order."""
        return [e for e in self.tap.exchanges if e.request.method == "POST" and e.request.path.split("?")[0] in CONVERSATION_PATHS]

    def receipts(self):
        """The receipts of all answered requests, oldest first."""
        ids = [e.headers["x-muninn-request-id"] for e in self.exchanges if "x-muninn-request-id" in e.headers]
        return [self.stand.receipt(identifier) for identifier in ids]


@contextlib.contextmanager
def place(name, *, lane, backend, dialect, model, window, upstream=None, key=None, again=False, more=""):
    """A gateway in front of `backend` (a URL), with `dialect` as the configuration says it, and all that belongs to it.

    `key` is what the gateway is to show the backend. `again` starts another gateway where one of this name has ended, with
    the state and the client's home that it left. `more` is the rest of its configuration.
    """
    directory = lane.work / re.sub(r"[^\w.]+", "-", name)
    directory.mkdir(exist_ok=again)
    home = directory / "home"
    home.mkdir(exist_ok=again)
    config = directory / "muninn.toml"
    config.write_text(configuration(backend, dialect, model, window, key) + more)
    environment = os.environ | {
        "MUNINN_CONFIG": str(config), "STAGE_BACKEND_KEY": key or "", "HOME": str(directory), "MUNINN_CACHE_DIR": str(lane.work / "cache"),
        **{f"XDG_{kind}_HOME": str(directory / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE", "DATA")},
    }
    with contextlib.ExitStack() as children:
        process, gateway = start_gateway(children, directory, lane.muninn, lane.root, environment)
        stand = Stand(Endpoint(backend), gateway, lane.root, directory, lane.muninn, environment, process)
        # Asked before its index is ready it answers all the same, but with what it finds without.
        wait_for("the gateway's index", lambda: "index ready" in stand.log(), 20)
        tap = Tap(gateway.address)
        children.callback(tap.close)
        yield Place(tap.url, lane.root, home, tap, upstream, stand)


def configuration(backend, dialect, model, window, key):
    """One backend; the deadline is generous because a debug build on a busy machine is what runs here."""
    return f"""[[backends]]
name = "upstream"
url = "{backend}"
dialect = "{dialect}"
default_model = "{model}"
context_window = {window}
{'key_env = "STAGE_BACKEND_KEY"' if key else ''}

[context]
deadline_ms = 5000
"""
