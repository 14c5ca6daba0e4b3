use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn edit(keys: &[&str], value: Value) -> Edit {
    Edit { keys: keys.iter().map(|&key| key.to_owned()).collect(), value, append: false }
}

fn append(keys: &[&str], value: Value) -> Edit {
    Edit { append: true, ..edit(keys, value) }
}

/// The edits of an install: an entry, two hooks, and a value that may exist.
fn json_edits() -> Vec<Edit> {
    let hook = |event: &str| json!({"hooks": [{"type": "command", "command": "/bin/muninn", "args": ["hook", event]}]});
    vec![
        edit(&["mcpServers", "muninn"], json!({"command": "/bin/muninn", "args": ["mcp"]})),
        append(&["hooks", "SessionStart"], hook("SessionStart")),
        append(&["hooks", "Stop"], hook("Stop")),
        edit(&["env", "ANTHROPIC_BASE_URL"], json!("http://127.0.0.1:4747")),
    ]
}

fn toml_edits() -> Vec<Edit> {
    let provider = json!({"name": "Muninn", "base_url": "http://127.0.0.1:4747/v1"});
    vec![
        edit(&["mcp_servers", "muninn"], json!({"command": "/bin/muninn", "args": ["mcp"]})),
        edit(&["model_provider"], json!("muninn")),
        edit(&["model_providers", "muninn"], provider),
    ]
}

#[track_caller]
fn round_trip(format: Format, text: &str, edits: &[Edit]) -> String {
    let (edited, applied) = apply(format, Some(text), edits).unwrap();
    let (again, none) = apply(format, Some(&edited), edits).unwrap();
    assert_eq!((again.as_str(), none), (edited.as_str(), Vec::new()), "a second install changes nothing");
    let undone = undo(format, &edited, &applied).unwrap();
    assert_eq!(undone, Undone { text: Some(text.to_owned()), kept: Vec::new() }, "{edited}");
    edited
}

/// [`round_trip`], where no value is replaced: nothing is removed but white space, and no kind of line end is added.
#[track_caller]
fn only_adds(format: Format, text: &str, edits: &[Edit]) -> String {
    let edited = round_trip(format, text, edits);
    let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<Vec<_>>();
    let mut after = visible(&edited).into_iter();
    let lost = visible(text).into_iter().find(|c| !after.any(|other| other == *c));
    assert_eq!(lost, None, "{edited}");
    let bare = |text: &str| text.replace("\r\n", "").contains('\n');
    assert!(!text.contains("\r\n") || !bare(&edited), "{edited:?}");
    edited
}

#[test]
fn jsonc_round_trips() {
    for text in [
        "{}",
        "{}\n",
        "{\n}\n",
        "{\n  \"a\": 1\n}",
        "{\n  \"a\": 1, // c\n  \"b\": 2 // d\n}\n",
        "{\n  // only a comment\n}\n",
        "{\n  \"a\": 1,\n  // behind\n}\n",
        "{\"a\":1}",
        "{ \"a\": 1 }",
        "{\r\n\t\"a\": [\r\n\t\t1\r\n\t]\r\n}\r\n",
        "{\"hooks\": {}, \"mcpServers\": {\"x\": {}}}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []}\n    ]\n  },\n  \"mcpServers\": {\n    \"x\": {\n    }\n  }\n}\n",
        "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"SessionStart\": [ /* none */ ],\n  },\n}\n",
        "\u{feff}{\n  \"a\": 1\n}\n",
    ] {
        only_adds(Format::Json, text, &json_edits());
    }
}

#[test]
fn toml_round_trips() {
    for text in [
        "",
        "# only a comment\n",
        "model = \"x\"\n",
        "model = \"x\"",
        "# a\nmodel = \"x\" # b\n\n[mcp_servers.other]\ncommand = \"x\" # c\n# end\n",
        "[a]\nb = 1\n\n\n[a.c]\n",
        "\n\n[[list]]\nx = 1\n",
        "mcp_servers = { other = { command = \"x\" } }\n",
        "mcp_servers.other.command = \"x\"\n",
        "[mcp_servers]\n",
        "[model_providers]\n# none yet\n",
        "a = 1 # c\r\n\r\n[b]\r\nc = \"\"\"\r\nx\r\n\"\"\"\r\n",
    ] {
        only_adds(Format::Toml, text, &toml_edits());
    }
}

#[test]
fn a_replaced_value_comes_back_and_keeps_its_comment() {
    let text = "model_provider = \"openai\" # mine\n\n[mcp_servers.x]\ncommand = \"x\"\n";
    let edited = round_trip(Format::Toml, text, &toml_edits());
    assert!(edited.starts_with("model_provider = \"muninn\" # mine\n"), "{edited}");
    let text = "{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"https://proxy.example\" // mine\n  }\n}\n";
    let edited = round_trip(Format::Json, text, &json_edits());
    assert!(edited.contains("\"http://127.0.0.1:4747\" // mine"), "{edited}");
}

#[test]
fn a_rewritten_file_loses_only_the_settings_of_muninn() {
    let before = json!({"numStartups": 3, "mcpServers": {"other": {"command": "x"}}});
    let (edited, applied) = apply(Format::Json, Some(&before.to_string()), &json_edits()).unwrap();
    let mut rewritten: Value = serde_json::from_str(&edited).unwrap();
    rewritten["numStartups"] = 4.into();
    rewritten["mcpServers"]["muninn"]["timeout"] = 60_000.into();
    let undone = undo(Format::Json, &serde_json::to_string_pretty(&rewritten).unwrap(), &applied).unwrap();
    let undone: Value = serde_json::from_str(&undone.text.unwrap()).unwrap();
    assert_eq!(undone, json!({"numStartups": 4, "mcpServers": {"other": {"command": "x"}}}));
}

#[test]
fn values_that_were_changed_since_are_kept() {
    let (edited, applied) = apply(Format::Json, Some("{}"), &json_edits()).unwrap();
    let changed = edited.replace("http://127.0.0.1:4747", "https://proxy.example");
    let undone = undo(Format::Json, &changed, &applied).unwrap();
    assert_eq!(undone.kept, ["env.ANTHROPIC_BASE_URL"]);
    let undone: Value = serde_json::from_str(&undone.text.unwrap()).unwrap();
    assert_eq!(undone, json!({"env": {"ANTHROPIC_BASE_URL": "https://proxy.example"}}));

    let (edited, applied) = apply(Format::Toml, None, &toml_edits()).unwrap();
    let changed = edited.replace("model_provider = \"muninn\"", "model_provider = \"mine\"");
    let undone = undo(Format::Toml, &changed, &applied).unwrap();
    assert_eq!(undone.kept, ["model_provider"]);
    assert_eq!(undone.text.unwrap(), "model_provider = \"mine\"\n");
}

#[test]
fn invalid_files_are_refused() {
    let refused = |format, text: &str, edits: &[Edit]| match apply(format, Some(text), edits) {
        Err(error) => error.at("/f".into(), format).to_string(),
        Ok(done) => panic!("{done:?}"),
    };
    let json = |text| refused(Format::Json, text, &json_edits());
    assert!(json("{\n  \"a\": \n}").starts_with("/f is not valid JSON: "), "{}", json("{\n  \"a\": \n}"));
    for text in ["{'a': 1}", "{a: 1}", "{\"a\": 1 \"b\": 2}", "{\"a\": NaN}", "{} {}", "{\"a\": 0x1}"] {
        assert!(json(text).starts_with("/f is not valid JSON: "), "{text}: {}", json(text));
    }
    assert_eq!(json("[]"), "/f: `the file` is not an object");
    assert_eq!(json("{\"mcpServers\": []}"), "/f: `mcpServers` is not an object");
    assert_eq!(json("{\"hooks\": {\"Stop\": {}}}"), "/f: `hooks.Stop` is not a list");
    let toml = |text| refused(Format::Toml, text, &toml_edits());
    assert!(toml("a = 1\nb = \n").starts_with("/f is not valid TOML: line 2: "), "{}", toml("a = 1\nb = \n"));
    assert_eq!(toml("a = 1\r\nb = 2\n"), "/f is not valid TOML: some lines end with CR LF and others with LF");
    assert_eq!(toml("mcp_servers = 1\n"), "/f: `mcp_servers` is not a table");
    assert_eq!(toml("[[mcp_servers]]\n"), "/f: `mcp_servers` is not a table");
    assert_eq!(
        refused(Format::Whole, "foreign", &[edit(&[], json!("ours"))]),
        "/f exists, and Muninn did not write it"
    );
}

/// White space and comments between the tokens of JSON.
fn trivia() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(""), 3 => Just(" "), 2 => Just("\n  "), 1 => Just("\t"),
        1 => Just(" // a comment, \"quoted\" {\n"), 1 => Just("/* [ */"), 1 => Just("\n\n// é\n"),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn container(open: char, members: Vec<String>, trailing: bool, end: &str, close: char) -> String {
    let comma = if trailing && !members.is_empty() { "," } else { "" };
    format!("{open}{}{comma}{end}{close}", members.join(","))
}

fn json_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-1.5e3".to_owned()),
        Just("\"te\\\"xt\"".to_owned()),
        Just("\"muninn\"".to_owned()),
        Just("{}".to_owned()),
        Just("[]".to_owned()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let member = (trivia(), "[a-z]{1,6}", trivia(), trivia(), inner.clone(), trivia())
            .prop_map(|(a, key, b, c, value, d)| format!("{a}\"{key}\"{b}:{c}{value}{d}"));
        let element = (trivia(), inner, trivia()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        prop_oneof![
            (prop::collection::vec(member, 0..4), any::<bool>(), trivia())
                .prop_map(|(members, trailing, end)| container('{', members, trailing, &end, '}')),
            (prop::collection::vec(element, 0..4), any::<bool>(), trivia())
                .prop_map(|(elements, trailing, end)| container('[', elements, trailing, &end, ']')),
        ]
    })
}

/// An object of settings, which may have the containers of the edits.
fn json_file() -> impl Strategy<Value = String> {
    let list = (trivia(), json_value(), trivia()).prop_map(|(a, value, b)| format!("[{a}{value}{b}]"));
    let hooks = (trivia(), trivia(), list).prop_map(|(a, b, list)| format!("{{{a}\"Stop\":{b}{list}}}"));
    let servers = (trivia(), json_value(), trivia()).prop_map(|(a, value, b)| format!("{{{a}\"other\": {value}{b}}}"));
    let containers = (prop::option::of(hooks), prop::option::of(servers));
    let free = prop::collection::vec(("[A-Z]{1,4}", json_value()), 0..4);
    let between = prop::collection::vec((trivia(), trivia()), 6);
    (containers, free, between, any::<bool>(), trivia(), trivia()).prop_map(
        |((hooks, servers), free, between, trailing, start, end)| {
            let named = [("hooks", hooks), ("mcpServers", servers)];
            let named = named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            let mut seen = Vec::new();
            let members = free.into_iter().chain(named).filter(|(key, _)| {
                let is_new = !seen.contains(key);
                seen.push(key.clone());
                is_new
            });
            let members = members.zip(&between);
            let members = members.map(|((key, value), (a, b))| format!("{a}\"{key}\": {value}{b}"));
            let file = container('{', members.collect(), trailing, &end, '}');
            format!("{start}{file}{end}")
        },
    )
}

fn toml_file() -> impl Strategy<Value = String> {
    let end = prop_oneof![Just("\n"), Just(" # a comment\n"), Just("\n\n"), Just("\n# [commented]\n")];
    let value = prop_oneof![
        Just("1"),
        Just("\"x\""),
        Just("[1, # one\n  2]"),
        Just("1979-05-27"),
        Just("{ a = 1 }"),
        Just("\"\"\"\ny\n\"\"\""),
    ];
    let line = ("[a-e]", value.clone(), end.clone());
    let table = (
        prop_oneof![
            Just("mcp_servers.other".to_owned()),
            Just("model_providers.x".to_owned()),
            Just("mcp_servers".to_owned()),
            "[f-h]",
            "[f-h]\\.[a-e]",
        ],
        end,
        prop::collection::vec(line.clone(), 0..3),
    );
    let lines = |lines: Vec<(String, &str, &str)>| {
        let mut seen = Vec::new();
        let lines = lines.into_iter().filter(|(key, ..)| {
            let is_new = !seen.contains(key);
            seen.push(key.clone());
            is_new
        });
        lines.map(|(key, value, end)| format!("{key} = {value}{end}")).collect::<String>()
    };
    let top = prop::collection::vec(line, 0..3);
    (top, prop::collection::vec(table, 0..4), any::<bool>())
        .prop_map(move |(top, tables, has_end)| {
            let mut text = lines(top);
            for (name, end, body) in tables {
                text.push_str(&format!("[{name}]{end}{}", lines(body)));
            }
            if !has_end {
                text.truncate(text.trim_end_matches('\n').len());
            }
            text
        })
        .prop_filter("a table twice", |text| toml::value(text).is_some())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn install_and_uninstall_of_jsonc_is_identity(text in json_file()) {
        only_adds(Format::Json, &text, &json_edits());
    }

    #[test]
    fn install_and_uninstall_of_toml_is_identity(text in toml_file()) {
        only_adds(Format::Toml, &text, &toml_edits());
    }

    #[test]
    fn strict_json_stays_strict(text in json_file()) {
        let strict = json::value(&text).unwrap().to_string();
        let edited = only_adds(Format::Json, &strict, &json_edits());
        prop_assert!(serde_json::from_str::<Value>(&edited).is_ok(), "{}", edited);
    }

    #[test]
    fn later_edits_survive_uninstalling(text in json_file(), value in json_value(), first in any::<bool>()) {
        let (edited, applied) = apply(Format::Json, Some(&text), &json_edits()).unwrap();
        let mine = |text: &str| {
            if first {
                return text.replacen('{', &format!("{{ /* mine */ \"later\": {value},"), 1);
            }
            let (edited, _) = apply(Format::Json, Some(text), &[edit(&["later"], json!({"a": [1]}))]).unwrap();
            edited
        };
        // The first brace may stand in a comment.
        prop_assume!(json::value(&mine(&edited)).is_some() && json::value(&mine(&text)).is_some());
        let undone = undo(Format::Json, &mine(&edited), &applied).unwrap();
        let undone_text = undone.text.unwrap();
        prop_assert_eq!(json::value(&undone_text), json::value(&mine(&text)));
        prop_assert_eq!(undone.kept, Vec::<String>::new());
        if first {
            prop_assert_eq!(undone_text, mine(&text), "every byte is restored");
        }
    }

    #[test]
    fn later_edits_of_toml_survive_uninstalling(text in toml_file()) {
        let (edited, applied) = apply(Format::Toml, Some(&text), &toml_edits()).unwrap();
        let mine = |text: &str| format!("# mine\nlater = 1\n{text}{}[later_table] # mine\nx = 1\n", if text.ends_with('\n') { "" } else { "\n" });
        prop_assume!(toml::value(&mine(&text)).is_some());
        let undone = undo(Format::Toml, &mine(&edited), &applied).unwrap().text.unwrap();
        prop_assert_eq!(toml::value(&undone), toml::value(&mine(&text)));
        prop_assert_eq!(undone.matches("# mine").count(), 2);
    }
}
