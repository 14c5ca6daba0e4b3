"""Who is driven through what: the table of clients and scenarios, as data."""

import dataclasses

from client_claude import ClaudeCode
from client_codex import Codex
from client_curl import Curl
from client_opencode import OpenCode
from client_sdk import Sdk
from scenarios import AGENT, BY_HAND, LIBRARY, TEXT

FORMATS = ["chat", "messages", "responses"]
# Both wire formats of a vendor are one dialect; the names of single formats force conversion.
NATIVE = {"chat": "openai", "messages": "anthropic", "responses": "openai"}

# Each lane is one client in a namespace of its own: a maker of its clients (one per wire format), and their scenarios.
LANES = {
    "opencode": (lambda at: [OpenCode(at)], AGENT),
    "claude-2.1.329": (lambda at: [ClaudeCode(at, "claude-2.1.329", "claude-opus-5", True)], AGENT),
    "claude-2.1.197": (lambda at: [ClaudeCode(at, "claude-2.1.197", "claude-sonnet-4-5", False)], AGENT),
    "codex": (lambda at: [Codex(at)], [*AGENT, "websocket"]),
    "curl": (lambda at: [Curl(wire) for wire in FORMATS], BY_HAND),
    "openai-python": (lambda at: [Sdk(at, "openai-python", wire) for wire in ("chat", "responses")], LIBRARY),
    "openai-node": (lambda at: [Sdk(at, "openai-node", wire) for wire in ("chat", "responses")], LIBRARY),
    "anthropic-python": (lambda at: [Sdk(at, "anthropic-python", "messages")], LIBRARY),
    "anthropic-node": (lambda at: [Sdk(at, "@anthropic-ai/sdk", "messages")], LIBRARY),
}
# Not run where formats are converted, because another scenario of the same client goes through all of it.
COVERED = {"one shot", "one shot, plain", "tool", "overflow, vendor", "websocket"}


@dataclasses.dataclass
class Row:
    """One row of the table: a client, the format that the backend speaks, and a scenario."""

    client: object
    wire: str
    scenario: str
    llama: bool = False

    @property
    def converted(self):
        """Whether the backend speaks another format than the client."""
        return self.wire != self.client.wire

    @property
    def dialect(self):
        """The backend's dialect as the configuration says it."""
        return self.wire if self.converted else NATIVE[self.wire]

    @property
    def backend(self):
        """The backend as the table shows it."""
        route = f"{self.client.wire} -> {self.wire}" if self.converted else f"native {self.wire}"
        return f"{'llama.cpp' if self.llama else 'scripted'}, {route}"


def texts(client, wire):
    """The scenarios against llama.cpp. The vendor's libraries cannot read its responses stream, without a gateway either
    (it has no output_index, and no output in response.created), so that they ask for whole answers there."""
    strict = isinstance(client, Sdk) and client.wire == wire == "responses"
    return [f"{scenario}, plain" for scenario in TEXT] if strict else TEXT


def rows(lane, installs, converted):
    """The rows of a lane, native ones first."""
    make, scenarios = LANES.get(lane, (lambda at: [], []))
    found = []
    for client in make(installs):
        wires = sorted(FORMATS, key=lambda wire: wire != client.wire) if converted else [client.wire]
        found += [Row(client, wire, scenario) for wire in wires for scenario in scenarios]
        found += [Row(client, wire, scenario, llama=True) for wire in wires for scenario in texts(client, wire)]
    found = [row for row in found if not (row.converted and row.scenario in COVERED)]
    return sorted(found, key=lambda row: (row.llama, row.converted))


# All lanes, those that wait most first, so that the last one to end is a short one. The four that are no rows of the
# matrix are files of their own.
ALL = ["two-gateways", *LANES, "learned", "noted", "cached-tokens"]
