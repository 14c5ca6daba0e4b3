"""What the scripts of this stage share: their arguments, and how they report."""

import argparse
import pathlib
import sys


def arguments(checkout=False):
    """The program under test, where the clients are installed, and where the checkout is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--muninn", required=True)
    parser.add_argument("--installs", required=True, type=pathlib.Path)
    if checkout:
        parser.add_argument("--checkout", required=True, type=pathlib.Path)
    return parser.parse_args()


def report(checks):
    """Runs checks, each a name and a function that returns the failed requirements and a transcript; prints both, and ends with
    `N passed, N failed`."""
    passed = failures = 0
    for name, check in checks:
        try:
            failed, transcript = check()
        except AssertionError as error:
            failed, transcript = [str(error)], []
        print(f"{'FAIL' if failed else 'ok':5} {name}")
        for line in [*transcript, *failed]:
            print(f"      {line}")
        passed, failures = passed + (not failed), failures + bool(failed)
    print(f"{passed} passed, {failures} failed")
    sys.exit(1 if failures else 0)
