#!/usr/bin/env python3
"""A fortnight of three people who share a repository: what their notes add to each branch, and which conflicts they make.

    tests/team/fortnight.py MUNINN [--transcript]

On each of ten working days each person changes a source file on a branch, writes down notes with `muninn remember`,
commits, and merges into main. Every second day one of them reconciles main. The last line on stdout is a JSON object:
the files of `.muninn` that a branch adds and changes, its added lines, and the conflicts. With `--transcript`, the
commands by which people look at the conflicts and decide them are shown before.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PEOPLE = ["Ann", "Ben", "Cam"]
DAYS = 10
# (day, person, file, notes)
NOTES = [
    (1, "Ann", "src/client.rs", ["A request to the tax service times out after 30 seconds", "Retries wait twice as long each time"]),
    (1, "Ben", "src/pool.rs", ["The connection pool is capped at 64 connections"]),
    (1, "Cam", "ci/release.sh", ["Release candidates are tagged by Ana", "Release notes are written from the merged pull requests"]),
    (2, "Ann", "src/invoice.rs", ["Invoices are stored in cents", "An invoice number is never used twice", "Rounding is half up", "The tax rate is kept with the invoice"]),
    (2, "Ben", "src/queue.rs", ["Jobs are kept in Postgres, not in Redis"]),
    (2, "Cam", "ci/build.sh", ["Windows builds use the msvc toolchain"]),
    (3, "Ann", "src/client.rs", ["The timeout of a request to the tax service is 10 seconds"]),
    (3, "Ben", "src/pool.rs", ["Connections are checked before use", "A broken connection is closed, not repaired"]),
    (3, "Cam", "src/export.rs", ["Exports are written as CSV with a header line"]),
    (4, "Ann", "src/mail.rs", ["Mail is sent by the outbox table, once a minute"]),
    (4, "Ben", "src/pool.rs", ["The connection pool's maximum is 32 connections"]),
    (4, "Cam", "ci/release.sh", ["Release candidates are tagged by Ben"]),
    (5, "Ann", "src/invoice.rs", ["Credit notes have their own numbers", "A credit note names its invoice"]),
    (5, "Ben", "src/client.rs", ["Requests to the tax service time out after one minute"]),
    (5, "Cam", "ci/build.sh", ["Windows builds use the gnu toolchain"]),
    (6, "Ann", "src/report.rs", ["The monthly report is made on the second working day"]),
    (6, "Ben", "src/queue.rs", ["A job is tried five times", "Failed jobs stay in the table for a week"]),
    (6, "Cam", "src/export.rs", ["The export of a large customer takes ten minutes"]),
    (7, "Ann", "src/client.rs", ["A request to the tax service times out after 45 seconds"]),
    (7, "Ben", "src/auth.rs", ["Sessions end after twelve hours", "Passwords are hashed with argon2id"]),
    (7, "Cam", "ci/build.sh", ["The build cache is cleared on Mondays"]),
    (8, "Ann", "src/mail.rs", ["Bounced addresses are blocked for 30 days"]),
    (8, "Ben", "src/auth.rs", ["Sessions last twelve hours, then people sign in again"]),
    (8, "Cam", "src/export.rs", ["Exports no longer have a header line"]),
    (9, "Ann", "src/invoice.rs", ["Amounts on an invoice are stored as integer cents"]),
    (9, "Ben", "src/queue.rs", ["Jobs moved from Postgres to Redis in May"]),
    (9, "Cam", "ci/release.sh", ["The changelog is checked by hand before a release"]),
    (10, "Ann", "src/report.rs", ["Reports are kept for ten years"]),
    (10, "Ben", "src/pool.rs", ["Idle connections are closed after five minutes"]),
    (10, "Cam", "ci/build.sh", ["Builds for macOS are signed on the build server"]),
]


class Person:
    def __init__(self, name, directory, muninn, origin):
        self.name, self.muninn_program = name, muninn
        home = directory / "home"
        home.mkdir(parents=True)
        self.env = {
            **{"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
            **{"XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state"), "XDG_RUNTIME_DIR": str(home)},
        }
        (home / ".gitconfig").write_text(
            f"[user]\nname={name}\nemail={name.lower()}@example.org\n[init]\ndefaultBranch=main\n[pull]\nff=only\n"
        )
        self.root = directory / "project"
        subprocess.run(["git", "clone", "-q", origin, self.root], env=self.env, check=True, capture_output=True)

    def run(self, *command, given=None):
        ran = subprocess.run(command, cwd=self.root, env=self.env, input=given, capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f"{self.name}: {' '.join(command)}: {ran.stdout}{ran.stderr}")
        return ran.stdout + ran.stderr

    def git(self, *arguments):
        return self.run("git", *arguments)

    def muninn(self, *arguments):
        return self.run(self.muninn_program, *arguments)

    def conflicts(self):
        return json.loads(self.muninn("conflicts", "--json"))["conflicts"]

    def update(self):
        self.git("switch", "-q", "main")
        self.git("pull", "-q")

    def merge(self, branch):
        self.update()
        self.git("merge", "-q", "--no-ff", "-m", f"Merge {branch}", branch)
        self.git("push", "-q", "origin", "main")


def day_of(person, day, file, notes):
    """One day of one person. Returns what the branch changes in `.muninn`: files by status, and added lines."""
    branch = f"{person.name.lower()}/day-{day}"
    person.update()
    person.git("switch", "-q", "-c", branch)
    path = person.root / file
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as source:
        source.write(f"// day {day}\n// by {person.name}\n")
    for note in notes:
        person.muninn("remember", "--file", file, note)
    person.git("add", "-A")
    person.git("commit", "-qm", f"{file}: day {day}")
    status = person.git("diff", "--name-status", "main...", "--", ".muninn").splitlines()
    lines = person.git("diff", "--numstat", "main...", "--", ".muninn").splitlines()
    person.merge(branch)
    return collections.Counter(line[0] for line in status), sum(int(line.split()[0]) for line in lines)


def reconcile(person):
    """Reconciles main, as a commit of its own. Returns what it printed."""
    person.update()
    printed = person.muninn("reconcile")
    person.git("add", "-A")
    if person.git("status", "--porcelain"):
        person.git("commit", "-qm", "Reconcile")
        person.git("push", "-q", "origin", "main")
    return printed


def show(person, *command):
    printed = person.run(*([person.muninn_program] + list(command[1:]) if command[0] == "muninn" else command))
    print(f"{person.name}$ {' '.join(repr(part) if ' ' in part else part for part in command)}\n{printed}")


def decide(person):
    """Shows how a person looks at the conflicts and decides them."""
    show(person, "muninn", "conflicts")
    show(person, "muninn", "resolve", "--accept")
    for conflict in person.conflicts():
        sides = len(conflict["sides"])
        decision = ["--keep=none", "--note", "neither was ever true"] if sides == 2 else ["--write", "A request to the tax service times out after 20 seconds"]
        show(person, "muninn", "resolve", conflict["id"], *decision)
        show(person, "muninn", "history", conflict["sides"][0]["id"])
    show(person, "muninn", "recall", "--superseded", "timeout of the tax service")
    show(person, "muninn", "conflicts")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("muninn", type=pathlib.Path)
    options.add_argument("--transcript", action="store_true")
    options = options.parse_args()
    muninn = str(options.muninn.resolve())
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        origin = str(directory / "origin.git")
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", origin], check=True)
        first = Person(PEOPLE[0], directory / PEOPLE[0], muninn, origin)
        (first.root / "README.md").write_text("# Billing\n")
        first.git("switch", "-q", "-c", "main")
        first.muninn("init", "--memory", "repo")
        first.git("add", "-A")
        first.git("commit", "-qm", "begin")
        first.git("push", "-q", "-u", "origin", "main")
        others = {name: Person(name, directory / name, muninn, origin) for name in PEOPLE[1:]}
        people = {first.name: first, **others}
        branches, queued = [], []
        for day in range(1, DAYS + 1):
            for of_day, name, file, notes in NOTES:
                if of_day == day:
                    branches.append(day_of(people[name], day, file, notes))
            if day % 2 == 0:
                before = len(first.conflicts()) if day > 2 else 0
                reconcile(first)
                queued.append(len(first.conflicts()) - before)
        tracked = first.git("ls-files", ".muninn").split()
        if options.transcript:
            decide(first)
        added = [status["A"] for status, _ in branches]
        report = {
            "notes": sum(len(notes) for *_, notes in NOTES),
            "branches": len(branches),
            "files_added_per_branch": {"mean": round(sum(added) / len(added), 2), "most": max(added)},
            "files_changed_per_branch": round(sum(status["M"] for status, _ in branches) / len(branches), 2),
            "lines_added_per_day": round(sum(lines for _, lines in branches) / DAYS, 1),
            "files_tracked_at_the_end": len(tracked),
            "conflicts": sum(queued),
            "conflicts_per_day": round(sum(queued) / DAYS, 2),
        }
        print(json.dumps(report))
        if max(added) > 1:
            sys.exit("a branch adds more than one file")


if __name__ == "__main__":
    main()
