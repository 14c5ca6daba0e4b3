"""opencode: pointed by a provider in its configuration, run with `run`, continued with `--continue`."""

import json

from programs import converse, lines_of_json, package_version, run

PROVIDERS = {"chat": "@ai-sdk/openai-compatible", "messages": "@ai-sdk/anthropic", "responses": "@ai-sdk/openai"}


class OpenCode:
    """Speaks what its provider speaks: chat completions here, unless told otherwise."""

    compacts = False
    recovers = True

    def __init__(self, installs, wire="chat"):
        self.folder = installs / "opencode"
        self.wire = wire
        self.name = "opencode"
        self.version = package_version(self.folder, "opencode-ai")
        self.binary = self.folder / "node_modules" / ".bin" / "opencode"

    def tool(self, root):
        """The tool call that reads a file of the repository: (name, arguments)."""
        return "read", {"filePath": str(root / "desk" / "curve.py")}

    @staticmethod
    def is_side(request):
        """The title request comes first, under the same session id; a summary has an agent of its own."""
        return b"title generator" in request.body or b"context summarization agent" in request.body

    def converse(self, place, prompts, *, stream=True, small=False, model="scripted", side=False):
        """Asks the prompts in one session, each in a run of its own."""
        config = place.home / "opencode.json"
        config.write_text(json.dumps({
            "autoupdate": False, "share": "disabled",
            "provider": {"muninn": {"npm": PROVIDERS[self.wire], "name": "muninn",
                                    "options": {"baseURL": f"{place.url}/v1", "apiKey": "dummy"},
                                    "models": {model: {"name": model, "limit": {"context": 128000, "output": 64 if small else 4096}}}}},
            **({"agent": {"build": {"prompt": "Answer in one short sentence.", "tools": {"*": False}}}} if small else {}),
        }))
        environment = {
            "OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }

        def one(prompt, number):
            command = [self.binary, "run", "--format", "json", "-m", f"muninn/{model}", *(["--continue"] if number else []), prompt]
            status, stdout, stderr = run(command, home=place.home, cwd=place.root, environment=environment)
            events = lines_of_json(stdout)
            said = [event["part"]["text"] for event in events if event.get("type") == "text"]
            failed = [json.dumps(event["error"]) for event in events if event.get("type") == "error"]
            return status, said[-1] if said else "", failed[-1] if failed else ("" if status == 0 else stderr[-400:])

        return converse(one, prompts)
