//! Tests of requests.

use super::super::super::golden::sources;
use super::super::super::request::{Dropped, Request, Speaker};
use super::super::super::{AnswerContext, ConvertError, Converted, SpecialKind};
use super::super::read_request;
use crate::WireFormat;
use crate::scan::Body;

fn golden(name: &str) -> String {
    sources("responses", "request").into_iter().find(|(found, _)| found == name).unwrap().1
}

fn request(body: &str) -> Result<Converted, ConvertError> {
    super::super::super::request(WireFormat::Responses, WireFormat::Chat, body)
}

#[test]
fn special_tools_are_recorded() {
    let special = |name: &str| request(&golden(name)).unwrap().context.special;
    let tools = special("codex_tools_as_items");
    assert_eq!(tools["exec"].kind, SpecialKind::Custom);
    assert_eq!(tools["exec"].namespace.as_deref(), Some("functions"));
    assert_eq!(tools["mcp__docs__search"].name, "search");
    assert_eq!(special("codex_tool_search")["tool_search"].kind, SpecialKind::Search);
}

fn read(body: &str) -> Request<'_> {
    let body = Body::of(body.trim(), "input").unwrap();
    read_request(body, &mut Dropped::default(), &mut AnswerContext::default()).unwrap()
}

#[test]
fn choice_without_tools_is_dropped() {
    assert_eq!(read(&golden("hosted_tools_and_their_items")).tool_choice, None);
}

#[test]
fn items_of_one_answer_are_one_message() {
    let sealed = golden("foreign_sealed_reasoning");
    let speakers: Vec<_> = read(&sealed).messages.iter().map(|message| message.speaker).collect();
    assert_eq!(speakers, [Speaker::User, Speaker::Assistant, Speaker::User]);
}

#[test]
fn state_held_by_the_vendor_is_refused() {
    let cases = [
        (r#""previous_response_id":"resp_1""#, "previous_response_id"),
        (r#""conversation":"conv_1""#, "conversation"),
        (r#""prompt":{"id":"p"}"#, "prompt"),
        (r#""background":true"#, "background"),
        (r#""input":[{"type":"item_reference","id":"msg_1"}]"#, "input.item_reference"),
        (r#""input":[{"type":"compaction","encrypted_content":"gAAA"}]"#, "input.compaction"),
        (r#""input":[{"type":"compaction_summary","encrypted_content":"gAAA"}]"#, "input.compaction"),
        (r#""input":[{"role":"user","content":"a"},{"type":"compaction_trigger"}]"#, "input.compaction"),
        (r#""input":[{"type":"context_compaction","encrypted_content":"gAAA"}]"#, "input.context_compaction"),
    ];
    for (member, field) in cases {
        let body = format!(r#"{{"model":"m","input":"x",{member}}}"#);
        let format = "responses";
        assert_eq!(request(&body).unwrap_err(), ConvertError::HeldElsewhere { field, format });
    }
    for body in [r#"{"model":"m"}"#, r#"{"input":"x"}"#, r#"{"model":"m","input":7}"#] {
        assert!(matches!(request(body), Err(ConvertError::Parse(_))), "{body}");
    }
    let body = r#"{"model":"m","input":"x","previous_response_id":null,"background":false,"prompt":null}"#;
    assert_eq!(request(body).unwrap().dropped, Dropped::default());
}

#[test]
fn what_the_vendor_added_in_2026_is_named() {
    let body = r#"{"model":"m","context_management":[{"type":"compaction","compact_threshold":200000}],
        "prompt_cache_options":{"mode":"explicit","ttl":"30m"},"prompt_cache_retention":"24h","moderation":{"a":1},
        "access_programs":["x"],"background_options":{"a":1},"input":[{"role":"user","content":[
        {"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}"#;
    let converted = request(body).unwrap();
    let named: Vec<&str> = converted.dropped.iter().map(|(name, _)| name).collect();
    for name in [
        "context_management",
        "prompt_cache_options",
        "prompt_cache_retention",
        "moderation",
        "access_programs",
        "background_options",
        "input.prompt_cache_breakpoint",
    ] {
        assert!(named.contains(&name), "{name}: {named:?}");
    }
}
