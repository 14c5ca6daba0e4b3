"""Collects statements from the documentation of public repositories: JSON objects with `repo` and `text`, a line each.

  documentation.py CLONES > STATEMENTS

`documentation.json` lists the repositories with their commits. The clones are CLONES/OWNER+NAME/repo. Two sentences of one
documentation share its words and rarely contradict each other: pairs of them teach the trees what the notes of a
repository have in common.
"""
import json
import random
import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = re.compile(r"\.(md|mdx|rst|adoc)$", re.IGNORECASE)
TRANSLATED = re.compile(r"(^|/)(zh|ja|ko|fr|de|es|pt|ru|it|translations?|locale|node_modules|vendor|tests?)[/_-]")
DOCUMENTS = 150
DOCUMENT_BYTES = 300_000
# Of one document, and of one repository.
SENTENCES = 60
STATEMENTS = 300
WORDS = range(6, 39)
# A block that is no prose: code, a quote, a table, a directive.
NO_PROSE = ("    ", "\t", "|", "<", "..", ":::", ">")
NO_STATEMENT = re.compile(r"https?://|\|| \$ |@\w|#\d+|\\")


def git(clone, *command):
    return subprocess.run(["git", "-C", clone, *command], capture_output=True, check=True).stdout.decode("utf-8", "replace")


def documents(clone, commit):
    """The texts of the documentation, in a fixed random order."""
    listed = (line.split("\t", 1) for line in git(clone, "ls-tree", "-r", "-l", commit).splitlines())
    blobs = [
        meta.split()[2] for meta, path in listed
        if DOCUMENT.search(path) and not TRANSLATED.search(path) and meta.split()[3].isdigit() and int(meta.split()[3]) < DOCUMENT_BYTES
    ]
    random.Random(5).shuffle(blobs)
    for blob in blobs[:DOCUMENTS]:
        yield git(clone, "cat-file", "blob", blob)


def plain(block):
    """The words of a block without its markup."""
    block = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", block)
    block = re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", block)
    block = re.sub(r":\w+:`~?([^`<]*)(<[^>]*>)?`", r"`\1`", block)
    return " ".join(block.replace("``", "`").replace("**", "").split())


def sentences(text):
    text = re.sub(r"```.*?```|<!--.*?-->", "\n\n", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n\s*[-*+] |\n\s*\d+\. |\n#+ ", text):
        if not block.startswith(NO_PROSE):
            yield from re.split(r'(?<=[.!?]) (?=[A-Z`"])', plain(block))


def is_statement(sentence):
    begins = sentence[:1].isalnum() or sentence[:1] == "`"
    is_short = len(sentence.split()) in WORDS and sentence.isascii()
    return begins and is_short and sentence.endswith(".") and not NO_STATEMENT.search(sentence)


def statements(clone, commit):
    choose, found = random.Random(5), {}
    for text in documents(clone, commit):
        here = [sentence for sentence in (one.strip(" -*#") for one in sentences(text)) if is_statement(sentence)]
        choose.shuffle(here)
        found |= {one.lower(): one for one in here[:SENTENCES]}
    found = list(found.values())
    choose.shuffle(found)
    return found[:STATEMENTS]


def main():
    commits = json.loads(Path(__file__).with_name("documentation.json").read_text(encoding="utf-8"))
    for repo, commit in commits.items():
        for text in statements(f"{sys.argv[1]}/{repo.replace('/', '+')}/repo", commit):
            print(json.dumps({"repo": repo, "text": text}))


if __name__ == "__main__":
    main()
