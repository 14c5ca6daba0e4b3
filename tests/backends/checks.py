"""The record of what was proved: one line per check as it happens, the sum at the end."""

import contextlib
import traceback


class Checks:
    """Counts checks. A check that could not be carried out has failed. `quiet` prints only what failed."""

    def __init__(self, quiet=False):
        self.quiet = quiet
        self.passed = 0
        self.failed = 0

    def check(self, name, ok, detail=""):
        """Records one check; `detail` says what was seen, and is shown when it failed."""
        if ok:
            self.passed += 1
            if not self.quiet:
                print(f"ok    {name}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL  {name}" + (f": {detail}" if detail != "" else ""), flush=True)
        return bool(ok)

    def equal(self, name, seen, wanted):
        """Records that two values are the same."""
        return self.check(name, seen == wanted, f"seen {short(seen)}, wanted {short(wanted)}")

    @contextlib.contextmanager
    def group(self, name, log=None):
        """A group of checks. An exception inside is one failed check, and the other groups still run.

        `log` is called for the gateway's last lines when anything in the group failed.
        """
        if not self.quiet:
            print(f"\n{name}", flush=True)
        before = self.failed
        try:
            yield
        except Exception as error:  # Whatever it is, it belongs in the record rather than on top of the stack.
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.check(f"{name} could be carried out", False, f"{type(error).__name__}: {error} ({where.name}:{where.lineno})")
        if log is not None and self.failed > before:
            with contextlib.suppress(OSError):
                print("      the gateway's log ends:\n" + "".join(f"      | {line}\n" for line in log().splitlines()[-12:]))

    def summary(self):
        """Prints the last line; the exit status."""
        print(f"\n{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def short(value):
    """A value's text, cut to what fits on a line."""
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "..."
