"""Claude Code: pointed by its environment, run with `-p`, continued with `-c`, read from its JSON lines."""

import json

from programs import converse, lines_of_json, package_version, run

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}
# SmolLM2 holds 8192 tokens and was trained on no more; Claude Code's own system text and tools are 50 kB. So the client is
# asked to leave out what it can, which changes nothing of how it speaks.
# How its requests about a conversation, made of the conversation itself, begin.
FORKS = (b"CRITICAL: Respond with TEXT ONLY", b"[SUGGESTION MODE:")
SMALL = ["--bare", "--tools", "", "--system-prompt", "Answer in one short sentence."]


class ClaudeCode:
    """One version; `model` decides which of its two message shapes it writes (a 4.5 model has no system-role message);
    `compacts` says whether it compacts by itself under `-p`, which 2.1.197 does not."""

    wire = "messages"
    recovers = True

    def __init__(self, installs, folder, model, compacts):
        self.folder = installs / folder
        self.name = "Claude Code"
        self.version = package_version(self.folder, "@anthropic-ai/claude-code")
        self.binary = self.folder / "node_modules" / ".bin" / "claude"
        self.model = model
        self.compacts = compacts

    def tool(self, root):
        """The tool call that reads a file of the repository: (name, arguments)."""
        return "Read", {"file_path": str(root / "desk" / "curve.py")}

    @staticmethod
    def is_side(request):
        """Titles, probes and the like, told by their shape, not by what the gateway thinks."""
        body = request.json
        title = not body.get("tools") and "json_schema" in json.dumps(body.get("output_config", ""))
        return title or body.get("max_tokens") == 1 or any(mark in request.body for mark in FORKS)

    def converse(self, place, prompts, *, stream=True, small=False, model=None, side=False, headers="", edits=False):
        """Asks the prompts in one session, each in a run of its own. `edits` lets it change files."""
        environment = QUIET | {"ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": "dummy"}
        environment |= {"ANTHROPIC_CUSTOM_HEADERS": headers} if headers else {}
        if small:
            environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = "512"

        def one(prompt, number):
            command = [self.binary, "-p", prompt, "--output-format", "stream-json", "--verbose",
                       "--model", model or self.model]
            command += ["-c"] if number else []
            command += SMALL if small else []
            command += ["--prompt-suggestions", "true"] if side else []
            command += ["--permission-mode", "acceptEdits"] if edits else []
            status, stdout, stderr = run(command, home=place.home, cwd=place.root, environment=environment)
            results = [value for value in lines_of_json(stdout) if value.get("type") == "result"]
            if not results:
                return status, "", (stderr or stdout)[-400:]
            answer = results[-1].get("result", "")
            return status, answer, answer if results[-1].get("is_error") else ""

        return converse(one, prompts)

