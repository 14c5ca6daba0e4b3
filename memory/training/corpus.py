"""The training corpus: (description, subject) pairs from registry packages.

Reads wheels (PyPI), tarballs (npm) and unpacked crate sources, and writes one JSON line per pair:
`package, language, kind, query, text`. Kinds: `doc` (a documentation comment's first paragraph and the code it stands on,
without the comment), `comment` (a comment inside code and the lines under it), `section` (a heading and its section),
`prose` (a comment's first paragraph and its others). Whole packages are held out: their pairs go to a file of their own.
"""

import argparse
import ast
import email
import hashlib
import json
import pathlib
import random
import re
import tarfile
import textwrap
import zipfile

SKIPPED = re.compile(r"(^|/)(tests?|testing|_vendor|vendor|vendored|node_modules|dist|build|min|examples?/data)/|"
                     r"(^|/)(test_|conftest)|\.min\.|_pb2|\.d\.ts$|/locale/|/i18n/")
MOST_PER_PACKAGE = 9000
MOST_CHARACTERS = 3000
LARGEST_FILE = 400_000


def words(text):
    """Number of words of a text."""
    return len(re.findall(r"[A-Za-z]{2,}", text))


def first_paragraph(doc):
    """The first paragraph of a comment as one line, and the rest."""
    head, _, rest = doc.strip().partition("\n\n")
    return " ".join(head.split())[:400], rest.strip()


def useful(summary):
    """Whether a summary is specific enough to be a query."""
    lowered = summary.lower()
    return 4 <= words(summary) and not lowered.startswith(("todo", "see ", "deprecated", "copyright", "alias ", "@"))


class Pairs:
    """Pairs of one package, each distinct query and text once."""

    def __init__(self, package, language):
        self.package, self.language, self.found, self.seen = package, language, [], set()

    def add(self, kind, query, text):
        text = text.strip("\n")[:MOST_CHARACTERS]
        if not useful(query) or words(text) < 4 or "\n" not in text and kind == "doc":
            return
        for key in (f"{kind} {query}", f"{kind} {' '.join(text.split())}"):
            digest = hashlib.sha1(key.encode()).digest()
            if digest in self.seen:
                return
            self.seen.add(digest)
        self.found.append({"package": self.package, "language": self.language, "kind": kind, "query": query, "text": text})

    def documented(self, doc, code):
        """A documentation comment and its code."""
        summary, rest = first_paragraph(doc)
        self.add("doc", summary, textwrap.dedent(code))
        if words(rest) >= 12:
            self.add("prose", summary, rest)


def python(pairs, source):
    """Docstrings and comments of a Python file."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = source.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        doc = ast.get_docstring(node)
        if not doc or len(node.body) < 2:
            continue
        literal = node.body[0]
        code = lines[node.lineno - 1:literal.lineno - 1] + lines[literal.end_lineno:node.end_lineno]
        pairs.documented(doc, "\n".join(code))
    comments(pairs, lines, re.compile(r"\s*# ?(.*)"))


def braced(lines, start):
    """The item that begins at a line and ends where its braces close, or at a semicolon; None if it does not end."""
    depth = 0
    for at in range(start, min(start + 160, len(lines))):
        line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', "", lines[at])
        depth += line.count("{") - line.count("}")
        if depth <= 0 and ("}" in line or line.rstrip().endswith((";", ","))):
            return lines[start:at + 1]
    return None


def rust(pairs, source):
    """`///` comments on items, `//!` comments as Markdown, and comments inside code."""
    lines = source.split("#[cfg(test)]")[0].splitlines()
    inner = [line.strip()[3:].removeprefix(" ") for line in lines if line.strip().startswith("//!")]
    markdown(pairs, "\n".join(inner))
    at = 0
    while at < len(lines):
        doc = []
        while at < len(lines) and lines[at].strip().startswith("///"):
            doc.append(lines[at].strip()[3:].removeprefix(" "))
            at += 1
        if doc:
            start = at
            while at < len(lines) and lines[at].strip().startswith("#["):
                at += 1
            item = braced(lines, at)
            if item and re.search(r"\b(fn|struct|enum|trait|impl|macro_rules|const|static|type|mod)\b", item[0]):
                text = "\n".join(line for line in item if not line.strip().startswith(("///", "#[doc")))
                pairs.documented("\n".join(doc), text)
            at = max(at, start)
        at += 1
    comments(pairs, lines, re.compile(r"\s*//(?![/!]) ?(.*)"))


def script(pairs, source):
    """JSDoc comments and comments inside code, JavaScript and TypeScript."""
    for found in re.finditer(r"/\*\*(.*?)\*/[ \t]*\n", source, re.DOTALL):
        body = [re.sub(r"^\s*\* ?", "", line) for line in found.group(1).splitlines()]
        doc = "\n".join(body).strip().split("\n@")[0]
        rest = source[found.end():found.end() + 8000].splitlines()
        item = braced(rest, 0) if rest else None
        if item and doc and not doc.startswith("@"):
            pairs.documented(doc, "\n".join(item))
    comments(pairs, source.splitlines(), re.compile(r"\s*//(?!/) ?(.*)"))


def comments(pairs, lines, pattern):
    """Whole-line comments and the code under them, up to an empty line or eight lines."""
    at = 0
    while at < len(lines):
        said = []
        while at < len(lines) and (match := pattern.fullmatch(lines[at])):
            said.append(match.group(1))
            at += 1
        if not said:
            at += 1
            continue
        under = []
        while at < len(lines) and lines[at].strip() and len(under) < 8 and not pattern.fullmatch(lines[at]):
            under.append(lines[at])
            at += 1
        comment = " ".join(said)
        if len(under) >= 2 and len(said) <= 5 and re.match(r"[A-Z]", comment) and words(comment) >= 5:
            pairs.add("comment", comment[:400], textwrap.dedent("\n".join(under)))


def markdown(pairs, text):
    """Sections under their headings, with the heading above them before it."""
    path, fenced, body = {}, False, []

    def flush():
        if path and words("\n".join(body)) >= 20:
            level = max(path)
            above = max((other for other in path if other < level), default=None)
            heading = f"{path[above]}: {path[level]}" if above else path[level]
            pairs.add("section", heading, "\n".join(body)[:1500])

    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        match = None if fenced else re.match(r"(#{1,4}) +(.*)", line)
        if match:
            flush()
            level = len(match.group(1))
            path = {key: value for key, value in path.items() if key < level}
            path[level], body = match.group(2).strip("# "), []
        else:
            body.append(line)
    flush()


READERS = {".py": ("python", python), ".rs": ("rust", rust), ".js": ("javascript", script), ".ts": ("javascript", script),
           ".mjs": ("javascript", script), ".md": ("markdown", markdown)}


def files_of(place):
    """(path, bytes) of a wheel, a tarball or a directory."""
    if place.suffix == ".whl":
        with zipfile.ZipFile(place) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith("METADATA"):
                    payload = email.message_from_bytes(archive.read(name)).get_payload()
                    yield "README.md", str(payload).encode()
                elif pathlib.PurePath(name).suffix in READERS:
                    yield name, archive.read(name)
    elif place.suffix == ".tgz":
        with tarfile.open(place) as archive:
            for member in sorted(archive.getmembers(), key=lambda member: member.name):
                if member.isfile() and pathlib.PurePath(member.name).suffix in READERS:
                    yield member.name, archive.extractfile(member).read()
    else:
        for path in sorted(place.rglob("*")):
            if path.is_file() and path.suffix in READERS:
                yield str(path.relative_to(place)), path.read_bytes()


def read(place, package):
    """The pairs of one package, in a fixed order, up to a maximum."""
    pairs = {}
    for name, data in files_of(place):
        if SKIPPED.search(name) or "CHANGELOG" in name.upper() or len(data) > LARGEST_FILE:
            continue
        language, reader = READERS[pathlib.PurePath(name).suffix]
        found = pairs.setdefault(language, Pairs(package, language))
        reader(found, data.decode("utf-8", "replace"))
    found = [pair for part in pairs.values() for pair in part.found]
    random.Random(package).shuffle(found)
    return found[:MOST_PER_PACKAGE]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=pathlib.Path, nargs="+", required=True,
                        help="folders that hold wheels, tarballs or crate sources")
    parser.add_argument("--list", type=pathlib.Path, required=True, help="packages.txt: `train|held NAME-VERSION` lines")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    available = {}
    for folder in args.packages:
        for place in folder.iterdir():
            key = "-".join(place.name.split("-")[:2]) if place.suffix == ".whl" else place.name.removesuffix(".tgz")
            available[key] = place
    args.out.mkdir(parents=True, exist_ok=True)
    seen_in_held = set()
    wanted = [line.split()[:2] for line in args.list.read_text().splitlines() if line and not line.startswith("#")]
    for part in ("held", "train"):
        count = 0
        with open(args.out / f"{part}.jsonl", "w") as out:
            for use, package in wanted:
                if use != part:
                    continue
                for pair in read(available[package], package):
                    # A query of a held-out package would be a test seen in training.
                    key = " ".join(pair["query"].lower().split())
                    if part == "held":
                        seen_in_held.add(key)
                    elif key in seen_in_held:
                        continue
                    out.write(json.dumps(pair) + "\n")
                    count += 1
        print(f"{part}: {count} pairs")


if __name__ == "__main__":
    main()
