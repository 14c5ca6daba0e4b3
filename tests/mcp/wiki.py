"""Real clients at the team's wiki, with a scripted model: the digest, a new page with a link, a move, and the backlinks.

Prints a transcript of each client, a row with its version, and `N passed, N failed` alone on the last line.
"""

import pathlib
import subprocess
import tempfile

import checks
import scripted
from clients import Claude, CodexServer, ours, texts

PAGES = {"areas/buckets": "# Buckets\nA bucket holds tokens.\n", "areas/retries": "# Retries\nThey use [[areas/buckets]].\n"}
NEW = "# Refill\nFills [[areas/buckets]].\n"


def repository(folder):
    """A repository with two pages."""
    root = folder / "demo"
    for page, text in PAGES.items():
        file = root / ".muninn" / "knowledge" / f"{page}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    subprocess.run(["git", "-C", root, "init", "-q"], check=True)
    return root


def steps(client):
    """The calls of the model, each with a text that its result must contain."""
    def call(name, **arguments):
        return scripted.Call(client.tool(name), arguments)

    return [
        (call("get_wiki_digest"), "This wiki contains 2 pages across 1 area."),
        (call("create_page", path="plans/refill", content=NEW), "plans/refill"),
        (call("move_page", **{"from": "areas/buckets", "to": "areas/queues"}), "areas/queues"),
        (call("get_backlinks", path="areas/queues"), "plans/refill"),
    ]


def check(client, muninn):
    """One client: the failed requirements, and the transcript."""
    failed, transcript = [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        root, home = repository(folder), folder / "home"
        settings = home / ".config" / "muninn" / "muninn.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('[mcp]\ntools = ["wiki"]\n')
        expected = steps(client)
        upstream = scripted.Upstream(client.is_side, [*(act for act, _ in expected), scripted.Say("done")])
        status, stdout, stderr = client.ask(upstream, {"command": muninn}, home, root)
        asked = [request.json for request in upstream.conversation]
        if status != 0 or len(asked) < len(expected) + 1:
            return [f"exit status {status}, {len(asked)} requests: {(stderr or stdout)[-300:]}"], transcript
        for number, (act, text) in enumerate(expected):
            before = set(texts(asked[number]))
            result = [found for found in texts(asked[number + 1]) if found not in before and text in found]
            shown = result[-1] if result else list(texts(asked[number + 1]))[-1]
            transcript.append(f"{act.name}: {' '.join(shown.split())[:160]}")
            if not result:
                failed.append(f"the result of {act.name} lacks {text!r}")
        pages = root / ".muninn" / "knowledge"
        for page, text in {"areas/retries": PAGES["areas/retries"], "plans/refill": NEW}.items():
            now = (pages / f"{page}.md").read_text()
            if now != text.replace("areas/buckets", "areas/queues"):
                failed.append(f"{page} is {now!r}")
        if (pages / "areas/buckets.md").exists():
            failed.append("the page is at its old place too")
        if (stopped := ours(muninn, home, root, "daemon", "stop")) != "stopped\n":
            failed.append(f"the daemon that answers the calls: {stopped}")
    return failed, transcript


def main():
    args = checks.arguments()
    clients = [Claude(args.installs, "claude-2.1.329", "claude-sonnet-4-5"), CodexServer(args.installs)]
    what = "digest, create_page, move_page, get_backlinks"
    checks.report((f"{client.name} {client.version}: {what}", lambda client=client: check(client, args.muninn))
                  for client in clients)


if __name__ == "__main__":
    main()
