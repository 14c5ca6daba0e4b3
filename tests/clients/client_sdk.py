"""The vendors' libraries, each driven by a small program of its own language."""

import json
import pathlib
import time

from programs import Outcome, dist_version, package_version, run

HERE = pathlib.Path(__file__).resolve().parent


class Sdk:
    """One library in one of its wire formats."""

    compacts = False
    recovers = False

    def __init__(self, installs, name, wire):
        self.name, self.wire = name, wire
        vendor = "anthropic" if "anthropic" in name else "openai"
        if name.endswith("-python"):
            self.command = [installs / "python" / "bin" / "python", HERE / f"driver_{vendor}.py"]
            self.version = dist_version(installs / "python", vendor)
        else:
            folder = installs / "node-sdks"
            self.command = ["node", HERE / f"driver_{vendor}.mjs", folder]
            self.version = package_version(folder, "@anthropic-ai/sdk" if vendor == "anthropic" else "openai")

    def tool(self, root):
        """The tool call that reads a file of the repository: (name, arguments)."""
        return "read_file", {"path": str(root / "desk" / "curve.py")}

    @staticmethod
    def is_side(_request):
        """A library asks nothing on its own."""
        return False

    def converse(self, place, prompts, *, stream=True, small=False, model="scripted"):
        """Asks the prompts in one process that resends the history."""
        orders = {"url": place.url, "wire": self.wire, "stream": stream, "model": model, "prompts": prompts,
                  "tool": None if small else "read_file"}
        began = time.monotonic()
        status, stdout, stderr = run(self.command, home=place.home, cwd=place.root, environment={}, stdin=json.dumps(orders))
        try:
            result = json.loads(stdout)
        except ValueError:
            result = {"answers": [], "error": (stderr or stdout)[-400:]}
        return Outcome(status, result["answers"], result["error"], time.monotonic() - began)
