use std::collections::BTreeSet;

use muninn_context_engine::tokens;
use muninn_context_engine::tools::Effect;
use muninn_core::client_tools;
use serde_json::{Value, json};

use super::offer::Offer;

fn names(offer: &Offer) -> Vec<String> {
    let tools = offer.definitions().into_iter();
    tools.map(|tool| tool.name.into_owned()).collect()
}

fn offer(names: &[&str]) -> Offer {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Offer::of(&names, false, true).unwrap()
}

/// The definitions as a client puts them into a prompt: name, description and schema.
fn definition_tokens(offer: &Offer) -> u32 {
    let definitions = offer.definitions().into_iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": Value::Object((*tool.input_schema).clone())})
    });
    tokens::count(&Value::from_iter(definitions).to_string())
}

#[test]
fn default_tools_are_in_a_fixed_order_and_cheap() {
    let default = offer(&[]);
    assert_eq!(names(&default), ["find_context", "definition", "references", "callers", "recall", "remember"]);
    let tokens = definition_tokens(&default);
    assert!((200..=1_500).contains(&tokens), "{tokens}");
}

#[test]
fn documented_tokens_of_each_set_are_the_real_ones() {
    let documented = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp.md")).unwrap();
    for (set, chosen) in [
        ("default", &[][..]),
        ("code", &["code"]),
        ("memory", &["memory"]),
        ("wiki", &["wiki"]),
        ("journal", &["journal"]),
        ("worklog", &["worklog"]),
        ("personal", &["personal"]),
        ("all", &["code", "memory", "wiki", "journal", "worklog", "personal"]),
    ] {
        let offer = offer(chosen);
        let row = format!("| {set} | {} | {} |", names(&offer).len(), definition_tokens(&offer));
        assert!(documented.contains(&row), "docs/mcp.md lacks the row {row}");
    }
}

#[test]
fn sets_and_names_choose_tools_once() {
    let all = offer(&["code", "memory", "wiki", "journal", "worklog", "personal"]);
    assert_eq!(names(&all).len(), client_tools().len());
    assert_eq!(names(&offer(&["recall", "memory", "recall"])), names(&offer(&["memory"])));
    assert_eq!(names(&offer(&["recall", "grep"])), ["recall", "grep"]);
    let without_model = Offer::of(&["code".to_owned(), "explore".to_owned()], false, false).unwrap();
    assert!(!names(&without_model).contains(&"explore".to_owned()));
    assert!(names(&offer(&["code"])).contains(&"explore".to_owned()));
    let unknown = Offer::of(&["gerp".to_owned()], false, true).err().unwrap().to_string();
    assert!(
        unknown.contains("`gerp`") && unknown.contains("code, memory, wiki, journal, worklog, personal, find_context"),
        "{unknown}"
    );
}

#[test]
fn every_definition_is_accepted_by_strict_validators() {
    let all = offer(&["code", "memory", "wiki", "journal", "worklog", "personal"]);
    let mut seen = BTreeSet::new();
    for tool in all.definitions() {
        assert!(seen.insert(tool.name.clone()));
        let schema = Value::Object((*tool.input_schema).clone());
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["type"].is_string(), "{}.{name}: {property}", tool.name);
            assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{}.{name}", tool.name);
            assert!(property.get("format").is_none() && property.get("anyOf").is_none(), "{property}");
        }
        let (annotations, hint) = (tool.annotations.unwrap(), tool.meta.unwrap());
        let entry = client_tools().iter().find(|entry| entry.name() == tool.name).unwrap();
        assert_eq!(annotations.read_only_hint, Some(entry.description.effect == Effect::Reads));
        assert_eq!(annotations.destructive_hint, Some(entry.description.effect == Effect::Replaces));
        assert!(hint.0["anthropic/searchHint"].as_str().is_some_and(|hint| !hint.is_empty()), "{}", tool.name);
        assert!(tool.title.is_some_and(|title| title.starts_with(char::is_uppercase)));
    }
}

#[test]
fn root_is_an_argument_only_if_there_are_several() {
    let with_root = Offer::of(&[], true, false).unwrap();
    let schema = |offer: &Offer| offer.definitions()[0].input_schema["properties"].clone();
    assert!(schema(&with_root).get("root").is_some() && schema(&offer(&[])).get("root").is_none());
}

#[test]
fn instructions_name_offered_tools_only_and_each_set() {
    let all: Vec<&str> = client_tools().iter().map(muninn_core::ClientTool::name).collect();
    let named = |text: &str| -> BTreeSet<String> {
        text.split('`').skip(1).step_by(2).filter(|name| all.contains(name)).map(str::to_owned).collect()
    };
    let sets = ["code", "memory", "wiki", "journal", "worklog", "personal"];
    for offer in sets.iter().map(|set| offer(&[set])).chain([offer(&[]), offer(&["recall", "grep"]), offer(&sets)]) {
        for offer in [offer.clone(), offer.that_reads()] {
            let (text, offered) = (offer.instructions(), names(&offer));
            let named = named(&text);
            assert!(named.iter().all(|name| offered.contains(name)), "{text}");
            assert!(text.split_whitespace().count() <= 220, "{text}");
        }
    }
    for set in sets {
        assert!(!named(&offer(&[set]).instructions()).is_empty(), "{set}");
    }
}

#[test]
fn instructions_are_short_and_begin_with_the_pitch() {
    let instructions = offer(&[]).instructions();
    assert!(instructions.split_whitespace().count() <= 150);
    let pitch = instructions.split_once("\n\n").unwrap().0;
    assert!(pitch.len() <= 245, "{}", pitch.len());
    assert!(pitch.contains("find_context") && pitch.contains("recall") && pitch.contains("remember"));
}
