"""Codex: pointed by a provider in its config.toml, run with `exec --json`, continued with `exec resume`."""

from programs import converse, lines_of_json, package_version, run


# What a window of 8192 tokens cannot hold: the built-in instructions, and the tools that can be switched off.
SMALL = """model_context_window = 8192
model_instructions_file = "{home}/instructions.md"
web_search = "disabled"
features = {{ multi_agent = false, goals = false, shell_tool = false, skills = false, apps = false }}
tools = {{ view_image = false }}"""


class Codex:
    """Only the responses format, always streamed."""

    wire = "responses"
    compacts = False
    recovers = True

    def __init__(self, installs):
        self.folder = installs / "codex"
        self.name = "Codex"
        self.version = package_version(self.folder, "@openai/codex")
        self.binary = self.folder / "node_modules" / ".bin" / "codex"

    def tool(self, root):
        """The tool call that reads a file of the repository: (name, arguments)."""
        return "exec_command", {"cmd": "cat desk/curve.py"}

    @staticmethod
    def is_side(request):
        """A title has a session of its own; compaction has no tools."""
        return b"single-line task title" in request.body or b"CONTEXT CHECKPOINT COMPACTION" in request.body

    def converse(self, place, prompts, *, stream=True, small=False, model="gpt-5", side=False, websockets=False,
                 hooks=False):
        """Asks the prompts in one session, each in a run of its own. `hooks` trusts the installed hooks."""
        home = place.home / ".codex"
        home.mkdir(exist_ok=True)
        (home / "instructions.md").write_text("Answer in one short sentence.\n")
        (home / "config.toml").write_text(configuration(home, place.url, model, small, side, websockets))

        def one(prompt, number):
            command = [self.binary, "exec", *(["resume", "--last"] if number else []), "--json", "--skip-git-repo-check",
                       "--dangerously-bypass-approvals-and-sandbox",
                       *(["--dangerously-bypass-hook-trust"] if hooks else []), prompt]
            status, stdout, stderr = run(command, home=place.home, cwd=place.root,
                                         environment={"MUNINN_DUMMY_KEY": "dummy", "CODEX_HOME": str(home)})
            events = lines_of_json(stdout)
            items = [event["item"] for event in events if event.get("type") == "item.completed"]
            said = [item["text"] for item in items if item.get("type") == "agent_message"]
            failed = [str(event.get("message") or event.get("error")) for event in events
                      if event.get("type") in ("error", "turn.failed")]
            return status, said[-1] if said else "", failed[-1] if failed else ("" if status == 0 else stderr[-400:])

        return converse(one, prompts)


def configuration(home, url, model, small, side, websockets):
    """The provider; `small` leaves out what a small window cannot hold, `side` lets it compact after the first turn."""
    text = f"""model = "{model}"
model_provider = "muninn"
check_for_update_on_startup = false
{SMALL.format(home=home) if small else ''}
{'model_auto_compact_token_limit = 50' if side else ''}

[analytics]
enabled = false

[model_providers.muninn]
name = "muninn"
base_url = "{url}/v1"
env_key = "MUNINN_DUMMY_KEY"
wire_api = "responses"
supports_websockets = {'true' if websockets else 'false'}
"""
    return text
