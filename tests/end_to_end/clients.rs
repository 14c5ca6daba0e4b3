//! Bodies as real clients write them, at their real size, with everything that a careless proxy would change.

use std::fmt::Write;

use crate::stage::quoted;

/// Text that re-serialisation would change: numbers at the limits, escapes, a lone surrogate, unknown fields, odd white space.
pub(crate) const ODDITIES: &str = r#""zeta" : 1.0,"alpha":1e400,	"n":12345678901234567890,"neg":-0.0,"exp":1E+2,"esc":"\u00e9\/\ud83d\ude00\u0000\b","lone":"a\ud800b","dup":1,"dup":2,"":null,"nested":{"b":[ 1.10 , {"a":0.10e-5} ],"a":{}}"#;

/// About 40 kB of system prompt: prose with quotes, code and other alphabets.
fn system_prompt() -> String {
    let mut text = String::new();
    for line in 0..360 {
        let _ = writeln!(
            text,
            "{line}. Use \"parallel\" calls where they help; \\d+ is a pattern, <b>not</b> markup — größer, 日本語, \u{1f600}\tand so on & so on."
        );
    }
    text
}

fn tools(of: impl Fn(usize, &str) -> String) -> String {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number","maximum":1e400,"default":1.0,"multipleOf":0.10},"id":{"const":98765432109876543210}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}"#;
    (0..12).map(|number| of(number, schema)).collect::<Vec<_>>().join(",")
}

/// Claude Code 2.1.329 talking to a 5.x model: reminders before the prompt, and a message of the role `system` last.
pub(crate) fn claude_code(root: &str, question: &str) -> String {
    let system = quoted(&system_prompt());
    let tools = tools(|number, schema| {
        format!(r#"{{"name":"Tool{number}","description":"Does \u201cthings\u201d","input_schema":{schema}}}"#)
    });
    let question = quoted(question);
    let environment = quoted(&format!(
        "# Environment\n - Primary working directory: {root}\n - Platform: linux\n\n# Skills\n- none\n"
    ));
    format!(
        r#"{{"stream":false,"model":"claude-opus-5-1","messages":[{{"role":"user","content":[{{"type":"text","text":"<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\nBe brief.\n</system-reminder>"}},{{"type":"text","text":{question},"cache_control":{{"type":"ephemeral","ttl":"1h"}}}}]}},{{"role":"system","content":{environment}}}],"system":[{{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.329; cc_entrypoint=cli;"}},{{"type":"text","text":"You are Claude Code, Anthropic's official CLI for Claude.","cache_control":{{"type":"ephemeral"}}}},{{"type":"text","text":{system},"cache_control":{{"type":"ephemeral"}}}}],"tools":[{tools}],"metadata":{{"user_id":"{{\"device_id\":\"d\",\"account_uuid\":\"\",\"session_id\":\"6f0e\"}}"}},"max_tokens":32000,"thinking":{{"type":"adaptive"}},"context_management":{{"edits":[{{"type":"clear_thinking_20251015","keep":"all"}}]}},"output_config":{{"effort":"high"}},{ODDITIES}}}"#
    )
}

/// opencode or any other agent that speaks chat completions.
pub(crate) fn chat_agent(root: &str, question: &str) -> String {
    let system = quoted(&format!("{}\n<env>\n  Working directory: {root}\n</env>", system_prompt()));
    let tools = tools(|number, schema| {
        format!(r#"{{"type":"function","function":{{"parameters":{schema},"name":"tool_{number}","strict":false}}}}"#)
    });
    let question = quoted(question);
    format!(
        "\n {{{ODDITIES},\"temperature\":1.0,\"messages\":[{{\"content\":{system},\"role\":\"system\"}} , {{\"role\":\"user\",\"content\":{question}}}\n],\"tools\":[{tools}],\"model\":\"gpt\\u002d5\",\"stream\":false}}\n"
    )
}

/// Codex CLI: developer items, AGENTS.md, the environment, then the prompt.
pub(crate) fn codex(root: &str, question: &str) -> String {
    let instructions = quoted(&system_prompt());
    let tools = tools(|number, schema| {
        format!(r#"{{"type":"function","name":"tool_{number}","strict":false,"parameters":{schema}}}"#)
    });
    let environment =
        quoted(&format!("<environment_context>\n  <cwd>{root}</cwd>\n  <shell>bash</shell>\n</environment_context>"));
    let question = quoted(question);
    format!(
        r##"{{"model":"gpt-5.1-codex","input":[{{"type":"message","role":"developer","content":[{{"type":"input_text","text":{instructions}}}]}},{{"type":"message","role":"user","content":[{{"type":"input_text","text":"# AGENTS.md instructions for {root}\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"}},{{"type":"input_text","text":{environment}}}]}},{{"type":"message","role":"user","content":[{{"type":"input_text","text":{question}}}]}}],"tools":[{tools}],"tool_choice":"auto","reasoning":{{"effort":"medium"}},"store":false,"stream":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"0199",{ODDITIES}}}"##
    )
}
