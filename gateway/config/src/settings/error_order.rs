//! Which error of a file is reported: one of a type before any of a value, and those of values in one order.

use crate::load_text;

/// Backends and a key for the settings that name one.
const TABLES: &str = "[[backends]]\nname = \"a\"\nurl = \"http://a\"\ndialect = \"chat\"\n\
                      [[keys]]\nname = \"ann\"\nhash = \"blake3:0000000000000000000000000000000000000000000000000000000000000000\"\n";

/// Settings with the error of each, in the order in which they are checked.
const VALUES: [(&str, &str); 28] = [
    (
        "limits.body_bytes = 20\nlimits.total_body_bytes = 10",
        "limits.total_body_bytes: is 10, but one body alone may have 20 (limits.body_bytes)",
    ),
    ("listen = 'here'", "listen: `here` is not an address; write for instance `127.0.0.1:4747`"),
    (
        "allowed_hosts = ['a b']",
        "allowed_hosts: `a b` is not a host name; write for instance `muninn.example`, `muninn.example:8443` or `*.internal`",
    ),
    ("personal.path = 'me'", "personal.path: it must be absolute"),
    ("personal.key = 'bob'", "personal.key: there is no key `bob`"),
    ("personal.agents.gemini = {}", "personal.agents.gemini.client: write `claude`, `codex` or `opencode`"),
    ("routes = [{ model = '*', backend = 'b' }]", "routes[0].backend: there is no backend `b`; known backends: a"),
    ("explore.mode = 'on'", "explore.mode: `on` is unknown; write off, background, auto or inline"),
    ("explore.model = 'm'", "explore.backend: is missing: name the backend that has `m`"),
    ("explore.deadline_ms = 0", "explore.deadline_ms: must be at least 1"),
    ("explore.turns = 0", "explore.turns: must be at least 1; to disable exploring, set mode = \"off\""),
    ("explore.tool_choice = 'no'", "explore.tool_choice: `no` is unknown; write auto or required"),
    (
        "memory.embedder.model = 'bert'",
        "memory.embedder.model: `bert` is unknown; write auto, static, minilm, or { backend = \"...\", model = \"...\" }",
    ),
    (
        "memory.summarizer = {}",
        "memory.summarizer: calls a model on Muninn's own account: name it with `backend` and `model`, or remove the section",
    ),
    (
        "memory.reconciler = {}",
        "memory.reconciler: calls a model on Muninn's own account: name it with `backend` and `model`, or remove the section",
    ),
    ("journal.path = 'x'", "journal.path: it must be absolute"),
    ("journal.max_answer_tokens = 0", "journal.max_answer_tokens: must be at least 1"),
    ("journal.author = 'x'", "journal.author: `x` is not of the form NAME <ADDRESS>"),
    ("journal.search.half_life_days = 0.0", "journal.search.half_life_days: it must be above 0"),
    ("context.threshold = 2.0", "context.threshold: must be between 0 and 1"),
    ("memory.write = 'x'", "memory.write: `x` is unknown; write off, local or repo"),
    ("memory.record = 'x'", "memory.record: `x` is unknown; write terms or text"),
    ("memory.sync = 'x'", "memory.sync: `x` is unknown; write segment or append"),
    ("memory.on_default_branch = 'x'", "memory.on_default_branch: `x` is unknown; write own, main or all"),
    ("memory.idle_ms = 0", "memory.idle_ms: must be at least 1"),
    ("wiki.link_style = 'x'", "wiki.link_style: `x` is not auto, obsidian or mind-map"),
    ("wiki.digest_in_prompt = 'x'", "wiki.digest_in_prompt: `x` is not auto, always or never"),
    ("wiki.digest.cloud_refresh = 'x'", "wiki.digest.cloud_refresh: `x` is no time such as 5m or 90s"),
];

/// Settings with a wrong type, and the errors.
const TYPES: [(&str, &str); 9] = [
    ("mcp = []", "invalid length 0, expected a table"),
    ("limits = []", "invalid length 0, expected a table"),
    ("roots = 3", "invalid type: integer `3`, expected a list"),
    ("hooks.enabled = 3", "invalid type: integer `3`, expected a boolean"),
    ("personal.signals_days = -1", "invalid value: integer `-1`, expected a whole number that is not negative"),
    ("worklog = 1", "invalid type: integer `1`, expected a table"),
    (
        "wiki.digest.cloud = 1",
        "unknown field `cloud`, expected one of `cloud_size`, `recents_size`, `cloud_refresh`, `stopwords_extra`, `max_render_bytes`. Did you mean `cloud_size`?",
    ),
    ("explore.tokens = 'x'", "invalid type: string \"x\", expected a whole number that is not negative"),
    (
        "journal.search.max_results = 1.5",
        "invalid type: floating point `1.5`, expected a whole number that is not negative",
    ),
];

fn reported(settings: &[&str]) -> String {
    let text = format!("{}\n{TABLES}", settings.join("\n"));
    let error = load_text(&text).unwrap_err().to_string();
    error.split_once("muninn.toml: ").unwrap().1.to_owned()
}

#[test]
fn of_two_invalid_values_the_one_that_is_checked_first_is_reported() {
    for (index, (first, error)) in VALUES.iter().enumerate() {
        // The message ends with the line of the key.
        let reported = |settings: &[&str]| {
            let told = reported(settings);
            let (message, line) = told.rsplit_once(" (line ").unwrap_or_else(|| panic!("{told}"));
            assert!(line.strip_suffix(')').is_some_and(|line| line.parse::<usize>().is_ok()), "{told}");
            message.to_owned()
        };
        assert_eq!(reported(&[first]), *error);
        for (second, _) in &VALUES[index + 1..] {
            assert_eq!(reported(&[first, second]), *error);
            assert_eq!(reported(&[second, first]), *error);
        }
    }
}

#[test]
fn wrong_types_are_reported_before_invalid_values() {
    for (wrong, error) in TYPES {
        assert_eq!(reported(&[wrong]), format!("line 1: {error}"));
        for (invalid, _) in VALUES {
            let is_same_section = wrong.split(['.', ' ']).next() == invalid.split(['.', ' ']).next();
            if !wrong.contains("= []") || !is_same_section {
                let line = invalid.matches('\n').count() + 2;
                assert_eq!(reported(&[invalid, wrong]), format!("line {line}: {error}"));
                assert_eq!(reported(&[wrong, invalid]), format!("line 1: {error}"));
            }
        }
    }
}
