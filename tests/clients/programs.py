"""Running a client: a clean environment, a private home, an end that cannot be missed."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time

SECONDS = 90


@dataclasses.dataclass
class Outcome:
    """What a client's user saw of a conversation: the exit status of its last run, and an answer for each question.

    `status` is None where the client had to be stopped. `error` is what it said went wrong, as the client says it.
    """

    status: int | None
    answers: list
    error: str = ""
    seconds: float = 0.0


def run(command, *, home, cwd, environment, stdin="", seconds=SECONDS):
    """Runs a program to its end; (exit status or None, stdout, stderr). Its whole process group ends with it."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TERM": "dumb",
             "NO_PROXY": "127.0.0.1", **environment}
    child = subprocess.Popen([str(part) for part in command], cwd=cwd, env=clean, text=True, start_new_session=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        stdout, stderr = child.communicate(stdin, timeout=seconds)
        return child.returncode, stdout, stderr
    except subprocess.TimeoutExpired as late:
        return None, text_of(late.stdout), text_of(late.stderr)
    finally:
        # Also where it ended by itself, for what it may have left behind, and where this process is being ended.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def text_of(output):
    """What a program had said before its time was up."""
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def converse(run_one, prompts):
    """One run of a program per prompt: `run_one(prompt, number)` gives (status, answer, error). Ends at the first failure."""
    outcome = Outcome(0, [])
    began = time.monotonic()
    for number, prompt in enumerate(prompts):
        outcome.status, answer, outcome.error = run_one(prompt, number)
        outcome.answers.append(answer)
        if outcome.status != 0:
            break
    outcome.seconds = time.monotonic() - began
    return outcome


def lines_of_json(text):
    """The lines of an output that are JSON objects."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def package_version(folder, name):
    """The version of an installed npm package."""
    return json.loads((pathlib.Path(folder) / "node_modules" / name / "package.json").read_text())["version"]


def dist_version(environment, name):
    """The version of a package in a Python environment."""
    found = next(pathlib.Path(environment).glob(f"lib/python*/site-packages/{name}-*.dist-info"))
    return found.name.removesuffix(".dist-info").rpartition("-")[2]
