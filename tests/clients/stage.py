"""The real-clients stage: every client through the gateway, against a scripted upstream and against llama.cpp.

Starts one lane per client, each in a namespace of its own, as many at a time as there are cores; prints what failed, then
the table of clients, and `N passed, N failed` alone on the last line. Started by `run`, which prepares the installs.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import lanes

HERE = pathlib.Path(__file__).resolve().parent
LANE_SECONDS = 1200
# Best first. With a process namespace whatever a client leaves behind ends with its lane.
NAMESPACES = [
    ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
    ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
    ["unshare", "--net"],
    ["unshare", "--map-root-user", "--net"],
]


def namespace():
    """The best namespace that this machine permits; empty where it permits none."""
    for command in NAMESPACES:
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    print("network: unshare --net is not permitted here, so that the clients share the machine's network", flush=True)
    return []


class Stage:
    """The lanes that run now; ending the stage ends them."""

    def __init__(self, args):
        self.args = args
        self.namespace = namespace()
        self.running = set()

    def run(self, lane):
        """Runs one lane; its output, and its seconds."""
        args = self.args
        command = [*self.namespace, sys.executable, str(HERE / "lane.py"), "--lane", lane, "--muninn", args.muninn]
        command += ["--installs", args.installs, *(["--own-network"] if self.namespace else [])]
        command += ["--converted"] if args.converted else []
        command += ["--only", args.only] if args.only else []
        began = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.running.add(child)
        try:
            output, _ = child.communicate(timeout=LANE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            output, _ = child.communicate()
        self.running.discard(child)
        return lane, output, time.monotonic() - began

    def end(self, *_):
        """Ends the lanes, and the stage."""
        for child in list(self.running):
            # The head of a process namespace ignores a polite request; its end takes the whole namespace with it.
            (child.kill if "--pid" in self.namespace else child.terminate)()
        for child in list(self.running):
            child.wait()
        os._exit(143)


def print_table(rows):
    """One aligned row each, in the order in which they ran."""
    names = ["client", "version", "backend", "scenario", "seconds"]
    rows = [{**row, "seconds": f"{row['seconds']:.1f}"} for row in rows]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    print("\nCLIENT TABLE")
    print("  ".join(name.ljust(widths[name]) for name in names) + "  result")
    for row in rows:
        print("  ".join(row[name].ljust(widths[name]) for name in names) + ("  pass" if row["ok"] else "  FAIL"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--muninn", required=True, help="the binary under test")
    parser.add_argument("--installs", required=True, help="where the clients are installed")
    parser.add_argument("--converted", action="store_true", help="also the rows that need conversion between formats")
    parser.add_argument("--lanes", default="", help="only these, with commas between")
    parser.add_argument("--only", default="", help="only rows whose backend and scenario contain this")
    args = parser.parse_args()
    stage = Stage(args)
    signal.signal(signal.SIGTERM, stage.end)
    wanted = [lane for lane in args.lanes.split(",") if lane] or list(lanes.ALL)
    rows, notes, passed, failed = [], [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        for lane, output, seconds in pool.map(stage.run, wanted):
            print(f"{lane}: {seconds:.0f} s", flush=True)
            total = None
            for line in output.splitlines():
                kind, _, rest = line.partition(" ")
                if kind == "ROW":
                    rows.append(json.loads(rest))
                elif kind == "NOTE":
                    notes.append(rest)
                elif kind == "SUM":
                    total = json.loads(rest)
                else:
                    print(f"      {line}", flush=True)
            # A lane without a sum did not come to its end, whatever it printed before.
            passed += total["passed"] if total else 0
            failed += total["failed"] if total else 1
            if total is None:
                print(f"FAIL  {lane} did not come to its end", flush=True)
    if notes:
        print("\n" + "\n".join(notes))
    if rows:
        print_table(rows)
    print(f"\n{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
