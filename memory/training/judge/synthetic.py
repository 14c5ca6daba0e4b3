"""Pairs made from single statements: statements with a changed value, subject or scope, and near statements.

Labelled pairs of real decisions are few. A statement with another number, or with the opposite of a word, contradicts the
original; the same change in a statement about another subject does not. Some pairs are reworded or lose a detail, so
that a change is not the only difference.
"""
import json
import random
import re

CODE = re.compile(r"`[^`\n]+`")
NUMBER = re.compile(r"(?<![\w.#/-])v?\d+(?:\.\d+)*(?=\s?(?:[a-zA-Z%]{0,3}\b|\W|$))")
NUMBERED = re.compile(r"(RFC|rfc|issue|#|step|section|PEP|ADR)\s*$")
NEGATED = re.compile(r"\b(not|no|never|cannot|n't|without|none)\b")
OPPOSITES = [
    *[("enabled", "disabled"), ("enable", "disable"), ("enables", "disables"), ("must", "may"), ("always", "never")],
    *[("before", "after"), ("required", "optional"), ("allowed", "forbidden"), ("minimum", "maximum")],
    *[("true", "false"), ("includes", "excludes"), ("include", "exclude"), ("supported", "unsupported")],
    *[("public", "private"), ("add", "remove"), ("synchronous", "asynchronous"), ("automatically", "manually")],
    *[("single", "multiple"), ("first", "last"), ("recommended", "deprecated"), ("accepts", "rejects")],
]
NEGATIONS = [
    *[("is", "is not"), ("are", "are not"), ("must", "must not"), ("should", "should not"), ("can", "cannot")],
    *[("will", "will not"), ("supports", "no longer supports"), ("requires", "does not require"), ("needs", "does not need")],
    *[("uses", "no longer uses"), ("is supported", "is no longer supported")],
]
REWORDINGS = [
    *[(r"\bwill be\b", "is"), (r"\bis set to\b", "is"), (r"\bYou should\b", "We should"), (r"\bThis\b", "It")],
    *[(r"\bcan be used to\b", "lets you"), (r"\bmust be\b", "has to be"), (r"\bis required\b", "is needed")],
    *[(r"\brequires\b", "needs"), (r"\bdo not\b", "don't"), (r"\bdoes not\b", "doesn't"), (r"\bis not\b", "isn't")],
    *[(r"\bcannot\b", "can't"), (r"\bin order to\b", "to"), (r"\bdirectory\b", "folder"), (r"\ball\b", "every")],
    *[(r"\bthe following\b", "these"), (r"\bfor example\b", "e.g."), (r"\bvia\b", "through"), (r"\busing\b", "with")],
    *[(r"\butilize\b", "use"), (r"\ballows you to\b", "lets you"), (r"\bwe (\w+)\b", r"the team \1")],
]
FILLERS = set("the a an that then also just simply currently new existing specific given possible available".split())
DETAILS = [
    *[", because of past incidents.", " (see the decision record).", ", as the team agreed."],
    *[" so that builds are reproducible.", ", which keeps the setup simple."],
]
SCOPES = [
    *[("in production", "in staging"), ("on Windows", "on Linux"), ("for v1", "for v2"), ("for admins", "for guests")],
    *[("in the test suite", "in the release build"), ("on the main branch", "on release branches")],
    *[("for reads", "for writes"), ("on the client", "on the server"), ("for HTTP", "for gRPC")],
    *[("in Python 3 environments", "in Python 2 environments"), ("in CI", "on developer machines")],
]
SUBJECTS = """importer, exporter, scheduler, billing service, search index, mobile client, admin console, router, cache layer,
audit log, release pipeline, user service, parser, worker pool, dashboard, login page, metrics endpoint, backup job,
package registry, linter, proxy, message queue, session store, docs site""".replace("\n", " ").split(", ")
TOOLS = """Sidekiq, Kafka, SQLite, Terraform, a small script, Jenkins, GitHub Actions, protobuf, YAML files, the built-in tool,
Redis, plain SQL, Buildkite, a hosted service, Cucumber, Webpack, esbuild, Prettier, Ruff, Docker Compose, OpenAPI, gRPC,
Playwright, MessagePack, tracing, Vector, our own implementation""".replace("\n", " ").split(", ")
USE = re.compile(r"^(?:We )?(?:we )?(?:will |should )?(use|prefer|add|enable|adopt|choose|support) (.*)$", re.I)
END_OF_OBJECT = re.compile(r"\b(?:for|to|as|in|when|with|instead|and|if|on|from|by|so|because|over|rather)\b|[,.:;(]")
AGAINST = [
    *["Remove {}", "We no longer use {}", "Avoid {}", "Do not use {}", "Stop using {}", "Migrate away from {}"],
    *["Drop {} in favour of TOOL", "Replace {} with TOOL", "Change from {} to TOOL", "Move from {} to TOOL"],
    *["Revert the change that added {}", "Revert #4711, which added {}"],
]
REASONS = ["", " after several incidents", " because of performance problems", " and all associated configuration"]
PREFERENCE = re.compile(
    r"^(.*?\b(?:use|prefer|choose|using|recommend) )([^,.]{2,60}?) (instead of|rather than|over) ([^,.]{2,40}?)([,.].*)?$",
    re.I,
)
DEFAULT = re.compile(r"(default(?:s to|: | is| =| \(| = )\s?|set to |use |uses |returns? |named |stored in |written in )(`[^`]+`)")


class Changes:
    """Changes of statements, by one random sequence."""

    def __init__(self, statements, seed=7):
        self.random = random.Random(seed)
        self.codes = {}
        for text, group in statements:
            self.codes.setdefault(group, []).extend(CODE.findall(text))

    def any_of(self, found):
        found = [one for one in found if one]
        return self.random.choice(found) if found else None

    def numbers(self, text):
        places = [one for one in NUMBER.finditer(text) if not NUMBERED.search(text[: one.start()])]
        if not places:
            return None
        chosen = places if self.random.random() < 0.4 else [self.random.choice(places)]
        for place in reversed(chosen):
            text = text[: place.start()] + self.other_number(place.group(0)) + text[place.end() :]
        return text

    def other_number(self, written):
        parts = written.lstrip("v").split(".")
        at = self.random.randrange(len(parts))
        value = int(parts[at][:9])
        other = self.random.choice([value + 1, value + 2, value * 2, value * 10 or 5, value // 2, value + 5])
        parts[at] = str(other if other != value else value + 3)
        return ("v" if written.startswith("v") else "") + ".".join(parts)

    def name(self, text, group):
        found = DEFAULT.search(text)
        others = [one for one in self.codes[group] if found and one != found.group(2)]
        return text[: found.start(2)] + self.random.choice(others) + text[found.end(2) :] if others else None

    def opposite(self, text):
        both = OPPOSITES + [(other, one) for one, other in OPPOSITES]
        return self.any_of(
            re.sub(rf"\b{one}\b", other, text, count=1) for one, other in both if re.search(rf"\b{one}\b", text)
        )

    def negated(self, text):
        if NEGATED.search(text):
            plain = re.sub(r"\b(must|should|is|are|do|does|will|can|would) not\b", r"\1", text, count=1)
            return re.sub(r"\b(do|does) (?=\w)", "", plain, count=1) if plain != text else None
        return self.any_of(
            re.sub(rf"\b{one}\b", other, text, count=1) for one, other in NEGATIONS if re.search(rf"\b{one}\b", text)
        )

    def preferred(self, text):
        found = PREFERENCE.search(text)
        if not found:
            return None
        start, one, word, other, end = found.groups()
        return f"{start}{other} {word} {one}{end or ''}"

    def used(self, text):
        """What a statement tells to use, and the rest of it."""
        found = USE.match(text)
        if not found:
            return None
        thing = END_OF_OBJECT.split(found.group(2))[0].strip()
        return (thing, found.group(2)[len(thing) :].strip(" .")) if 2 < len(thing) < 50 else None

    def against(self, text):
        if not (used := self.used(text)):
            return None
        thing, rest = used
        tool = self.random.choice(TOOLS)
        said = self.random.choice(AGAINST).format(thing).replace("TOOL", tool)
        kind = self.random.random()
        if rest and kind < 0.25:
            return f"{said} {rest}."
        said += self.random.choice(REASONS)
        return f"{said}. Use {tool} {rest}." if rest and kind < 0.6 else f"{said}."

    def chosen(self, text):
        used = self.used(text)
        return text.replace(used[0], self.random.choice(TOOLS), 1) if used and used[1] else None

    def subject(self, text, group):
        found = CODE.search(text)
        others = [one for one in self.codes[group] if found and one != found.group(0)]
        if others and found.start() < 60:
            return text[: found.start()] + self.random.choice(others) + text[found.end() :]
        verbs = "is|are|must|should|can|will|has|have|requires|uses|supports|defaults"
        found = re.match(rf"^(The |An? |Each |Every |All )?[a-zA-Z-]+(?: [a-zA-Z-]+)?( (?:{verbs})\b.*)$", text)
        return (found.group(1) or "The ") + self.random.choice(SUBJECTS) + found.group(2) if found else None

    def reworded(self, text):
        found = [re.sub(one, other, text, count=1) for one, other in REWORDINGS]
        found = [one for one in found if one != text]
        clause = re.match(r"^((?:If|When|In|For|To|By|On|With|After|Before) .{20,}?), (.{15,}?)\.?$", text)
        if clause:
            first, rest = clause.groups()
            found += [f"{rest[0].upper()}{rest[1:]} {first[0].lower()}{first[1:]}."] * 4
        words = text.split()
        fillers = [at for at, word in enumerate(words) if at > 1 and word in FILLERS]
        if fillers:
            at = self.random.choice(fillers)
            found += [" ".join(words[:at] + words[at + 1 :])] * 2
        found.append(text.rstrip(".") + self.random.choice([" now.", "", " today."]))
        begin = self.random.choice(["Note that ", "Currently, ", "Remember: ", "We decided: ", "As agreed, "])
        found.append(begin + text[0].lower() + text[1:])
        return self.random.choice(found)

    def detailed(self, text):
        shorter = re.sub(r"\s\([^()]*\)", "", text, count=1)
        found = [shorter] if shorter != text else []
        shorter = re.sub(r"(, (?:so|because|which|since|as|for example|such as) [^,.]*)(?=\.?$)", "", text)
        found += [shorter] if shorter != text and len(shorter) > 25 else []
        return self.random.choice([*found, text.rstrip(".") + self.random.choice(DETAILS)])

    def edited(self, text):
        """The text with nothing, a rewording, a detail or both."""
        kind = self.random.random()
        if kind < 0.35:
            return text
        if kind < 0.65:
            return self.reworded(text)
        return self.detailed(text) if kind < 0.85 else self.reworded(self.detailed(text))

    def in_scope(self, text, scope):
        first = f"{scope[0].upper()}{scope[1:]}, {text[0].lower()}{text[1:]}"
        return self.random.choice([first, f"{text.rstrip('.')} {scope}."])

    def of(self, text, group):
        """(other text or None, label, kind) of one statement, and the scoped pairs as (pair, label, kind)."""
        for _ in range(3):
            yield self.numbers(text), "contradiction", "number"
            yield self.preferred(text), "contradiction", "preference"
            yield self.against(text), "contradiction", "against"
        yield self.name(text, group), "contradiction", "name"
        yield self.opposite(text), "contradiction", "opposite"
        yield self.negated(text), "contradiction", "negation"
        yield self.chosen(text), "contradiction", "choice"
        if other := self.subject(text, group):
            yield other, "neutral", "subject"
            yield self.numbers(other) or self.negated(other) or self.opposite(other), "neutral", "subject-value"
        if self.random.random() < 0.6:
            yield self.reworded(text), "duplicate", "reworded"


def changed(statements):
    """Yields (a, b, label, group, kind)."""
    changes = Changes(statements)
    for text, group in statements:
        for other, label, kind in changes.of(text, group):
            other = other if other is None or kind in ("against", "reworded") else changes.edited(other)
            if other and other != text:
                yield text, other, label, group, kind
        if (other := changes.numbers(text)) and changes.random.random() < 0.5:
            one, two = changes.random.choice(SCOPES)
            yield changes.in_scope(text, one), changes.in_scope(other, two), "neutral", group, "scope"


def templates(path, seed=11):
    """Yields (a, b, label, group, kind) of statements about attributes: with one value, or with many at once."""
    found = json.loads(path.read_text(encoding="utf-8"))
    rng = random.Random(seed)
    changes = Changes([], seed)
    attributes = [*found["single"], *found["many"]]
    for number, (attribute, is_single) in enumerate([(one, True) for one in found["single"]] + [(one, False) for one in found["many"]]):
        group = f"attribute {number}"

        def compound():
            return f"{rng.choice(found['first'])} {rng.choice(found['second'])}"

        def say(subject, value, of=attribute):
            text = rng.choice(of["says"]).replace("{s}", subject).replace("{v}", value)
            return text[0].upper() + text[1:]

        for _ in range(8):
            one, other = rng.sample(attribute["values"], 2)
            subject, another = rng.sample([*found["subjects"], compound(), compound(), compound()], 2)
            label = "contradiction" if is_single else "neutral"
            yield say(subject, one), say(subject, other), label, group, "value" if is_single else "many"
            yield say(subject, one), say(another, rng.choice([one, other])), "neutral", group, "another"
            one_more, part = compound(), rng.choice([one, other])
            yield say(one_more, one), say(compound(), part), "neutral", group, "another"
            says = attribute["says"][0]
            part = [says.replace("{s}", name).replace("{v}", value) for name, value in [(one_more, one), (compound(), other)]]
            yield *part, "neutral", group, "another"
            a, b = say(subject, one), say(subject, one)
            denied = changes.negated(b)
            for unlike in rng.sample([of for of in attributes if of is not attribute], 4):
                yield rng.choice([a, denied or a]), say(subject, rng.choice(unlike["values"]), unlike), "neutral", group, "other-attribute"
            if denied:
                yield a, denied, "contradiction", group, "denied"
                yield say(another, one), denied, "neutral", group, "denied-another"
            if a != b:
                yield a, b, "duplicate", group, "phrasing"


def near(statements, neighbours=6):
    """Yields (a, b, group) for each statement's nearest statements by words, each pair once."""
    import numpy
    from sklearn.feature_extraction.text import TfidfVectorizer

    rows = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit_transform([text for text, _ in statements])
    found = set()
    for at in range(len(statements)):
        likeness = (rows @ rows[at].T).toarray().ravel()
        likeness[at] = -1
        for other in numpy.argsort(-likeness)[:neighbours]:
            found.add((min(at, int(other)), max(at, int(other))))
    for one, other in sorted(found):
        yield statements[one][0], statements[other][0], statements[one][1]
