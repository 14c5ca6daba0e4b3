//! The ways in which models write a call.

use super::super::Dialect;

/// What models write for `grep(pattern = "x")`, by who writes it so.
pub(super) const SHAPES: &[(&str, Dialect, &str)] = &[
    (
        "Qwen 2.5, Hermes",
        Dialect::Xml,
        "<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n</tool_call>",
    ),
    (
        "Hermes, no end",
        Dialect::Xml,
        "Let me see.\n<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}",
    ),
    (
        "Hermes, a brace short",
        Dialect::Xml,
        "<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}</tool_call>",
    ),
    (
        "Qwen 2.5, arguments first",
        Dialect::Xml,
        "<tool_call>{\"arguments\": {\"pattern\": \"x\"}, \"name\": \"grep\"}</tool_call>",
    ),
    (
        "Hermes, single quotes",
        Dialect::Xml,
        "<tool_call>{'name': 'grep', 'arguments': {'pattern': 'x'}}</tool_call>",
    ),
    (
        "SmolLM2",
        Dialect::Xml,
        "<tool_call>[{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}]</tool_call>",
    ),
    (
        "SmolLM3, thinking",
        Dialect::Xml,
        "<think>\n<tool_call>{\"name\":\"list\"}</tool_call>\n</think>\n<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}</tool_call>",
    ),
    (
        "QwQ, thinking opened by the template",
        Dialect::Json,
        "maybe {\"name\":\"list\",\"arguments\":{}}\n</think>\n\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}",
    ),
    (
        "Qwen3-Coder",
        Dialect::Xml,
        "<tool_call>\n<function=grep>\n<parameter=pattern>\nx\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "Qwen3-Coder, outer tag left out",
        Dialect::Xml,
        "<function=grep>\n<parameter=pattern>\nx\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "Qwen3-Coder, no end",
        Dialect::Xml,
        "<tool_call>\n<function=grep>\n<parameter=pattern>\nx",
    ),
    (
        "Llama 3.1, custom",
        Dialect::Xml,
        "<function=grep>{\"pattern\": \"x\"}</function>",
    ),
    (
        "GLM 4.5",
        Dialect::Xml,
        "<tool_call>grep\n<arg_key>pattern</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
    ),
    (
        "Claude",
        Dialect::Xml,
        "I'll look.\n\n<function_calls>\n<invoke name=\"grep\">\n<parameter name=\"pattern\">x</parameter>\n</invoke>\n</function_calls>",
    ),
    (
        "Claude, with a namespace",
        Dialect::Xml,
        "<ns:function_calls><ns:invoke name=\"grep\"><ns:parameter name=\"pattern\">x</ns:parameter></ns:invoke></ns:function_calls>",
    ),
    ("Cline", Dialect::Xml, "<grep>\n<pattern>x</pattern>\n</grep>"),
    (
        "Cline, no end",
        Dialect::Xml,
        "I'll use <grep> now.\n<grep>\n<pattern>x</pattern>",
    ),
    (
        "Llama 3.2, JSON",
        Dialect::Json,
        "{\"name\": \"grep\", \"parameters\": {\"pattern\": \"x\"}}",
    ),
    (
        "Llama 3.1, tagged",
        Dialect::Marked,
        "<|python_tag|>{\"name\": \"grep\", \"parameters\": {\"pattern\": \"x\"}}<|eom_id|>",
    ),
    (
        "Llama 3.1, built in",
        Dialect::Marked,
        "<|python_tag|>grep.call(pattern=\"x\")",
    ),
    ("Llama 3.2, Python", Dialect::Json, "[grep(pattern=\"x\")]"),
    ("Llama 4, Python", Dialect::Json, "[grep(pattern='x',)]"),
    (
        "Mistral 7B",
        Dialect::Marked,
        "[TOOL_CALLS][{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}, \"id\": \"VvvODy9mT\"}]</s>",
    ),
    (
        "Mistral Small 3",
        Dialect::Marked,
        "[TOOL_CALLS]grep[ARGS]{\"pattern\": \"x\"}",
    ),
    (
        "Magistral",
        Dialect::Marked,
        "[TOOL_CALLS]grep[CALL_ID]81296[ARGS]{\"pattern\": \"x\"}",
    ),
    ("Ministral", Dialect::Marked, "[TOOL_CALLS]grep{\"pattern\": \"x\"}"),
    (
        "DeepSeek V3, R1",
        Dialect::Marked,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>grep\n```json\n{\"pattern\": \"x\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "DeepSeek V3.1",
        Dialect::Marked,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>grep<｜tool▁sep｜>{\"pattern\": \"x\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "Kimi K2",
        Dialect::Marked,
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.grep:0<|tool_call_argument_begin|>{\"pattern\": \"x\"}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "GPT-OSS",
        Dialect::Marked,
        "<|channel|>analysis<|message|>Need a search.<|end|><|start|>assistant<|channel|>commentary to=functions.grep <|constrain|>json<|message|>{\"pattern\": \"x\"}<|call|>",
    ),
    (
        "GPT-OSS, addressee first",
        Dialect::Marked,
        "<|start|>assistant to=functions.grep<|channel|>commentary json<|message|>{\"pattern\": \"x\"}<|call|>",
    ),
    (
        "Granite",
        Dialect::Marked,
        "<|tool_call|>[{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}]",
    ),
    (
        "LFM2",
        Dialect::Marked,
        "<|tool_call_start|>[grep(pattern=\"x\")]<|tool_call_end|>",
    ),
    (
        "OpenAI, a call",
        Dialect::Json,
        "{\"id\": \"c\", \"type\": \"function\", \"function\": {\"name\": \"grep\", \"arguments\": \"{\\\"pattern\\\": \\\"x\\\"}\"}}",
    ),
    (
        "OpenAI, a message",
        Dialect::Json,
        "{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"c\", \"type\": \"function\", \"function\": {\"name\": \"grep\", \"arguments\": \"{\\\"pattern\\\": \\\"x\\\"}\"}}]}",
    ),
    (
        "OpenAI, functions",
        Dialect::Json,
        "{\"function_call\": {\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}}",
    ),
    (
        "Anthropic, a block",
        Dialect::Json,
        "{\"type\": \"tool_use\", \"id\": \"t\", \"name\": \"grep\", \"input\": {\"pattern\": \"x\"}}",
    ),
    (
        "keys: tool, args",
        Dialect::Json,
        "Sure! {\"tool\": \"grep\", \"args\": {\"pattern\": \"x\"}} Let me know.",
    ),
    (
        "keys: tool_name, input",
        Dialect::Json,
        "{\"tool_name\": \"Grep\", \"input\": {\"pattern\": \"x\"}}",
    ),
    (
        "keys: function, parameters",
        Dialect::Json,
        "{\"function\": \"functions.grep\", \"parameters\": {\"pattern\": \"x\"}}",
    ),
    ("keys: flat", Dialect::Json, "{\"tool\": \"grep\", \"pattern\": \"x\"}"),
    (
        "keys: the name is the key",
        Dialect::Json,
        "{\"grep\": {\"pattern\": \"x\"}}",
    ),
    (
        "ReAct",
        Dialect::Json,
        "Thought: search.\nAction:\n{\"action\": \"grep\", \"action_input\": {\"pattern\": \"x\"}}",
    ),
    (
        "a brace short at the end",
        Dialect::Json,
        "I call {\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}",
    ),
    (
        "a list among words",
        Dialect::Json,
        "First: [ {\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}, ] then more",
    ),
    (
        "fenced json",
        Dialect::Fenced,
        "I will search:\n```json\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n```\nand wait.",
    ),
    (
        "fenced, comma behind the last",
        Dialect::Fenced,
        "```json\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\",},}\n```",
    ),
    (
        "fenced without a name",
        Dialect::Fenced,
        "```\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n```",
    ),
    (
        "fenced tool_call",
        Dialect::Fenced,
        "```tool_call\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n```",
    ),
    (
        "Gemma",
        Dialect::Fenced,
        "```tool_code\nprint(default_api.grep(pattern=\"x\"))\n```",
    ),
    (
        "Gemma, by position",
        Dialect::Fenced,
        "```tool_code\n# look for it\nhits = grep(\"x\")\n```",
    ),
    (
        "fenced, by position, no end",
        Dialect::Fenced,
        "```tool_code\ngrep(r'x')",
    ),
    (
        "fenced, all as one",
        Dialect::Fenced,
        "```\ngrep({\"pattern\": \"x\"})\n```",
    ),
    (
        "inline",
        Dialect::Json,
        "Run `{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}`",
    ),
];
