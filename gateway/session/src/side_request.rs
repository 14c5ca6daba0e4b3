//! Requests that a client makes on its own behalf: titles, probes, compaction, suggestions, classifiers, subagents.
//!
//! They get replay only, so that their prefix still hits the backend's cache, and nothing is learned from them. Each rule
//! is a row of the table below, taken from recorded requests, with a golden request and a near miss under `golden/`. Rules
//! on text test the beginning of the *last text block*: some clients append such a block to a human turn, and a person may
//! quote the same text elsewhere in a question.

use std::sync::LazyLock;

use http::HeaderMap;
use memchr::memmem::Finder;
use muninn_wire::{Element, Members, Message, Passage, Prompt, Role, WireFormat};

use super::identity::is_subagent;

/// The name of the rule that a side request matches, as receipts show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideRequest(&'static str);

impl SideRequest {
    /// The rule's name.
    pub fn name(self) -> &'static str {
        self.0
    }
}

struct Rule {
    name: &'static str,
    matches: fn(&Request<'_>) -> bool,
}

/// The input of the rules.
struct Request<'a> {
    headers: &'a HeaderMap,
    prompt: &'a Prompt<'a>,
    last_text: &'a str,
}

/// The type of an item, with its quotes.
static COMPACTION_TRIGGER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"compaction_trigger\""));

const RULES: [Rule; 15] = [
    Rule {
        name: "subagent",
        // A model wrote its opening text, and its session id may be the main agent's.
        matches: |request| is_subagent(request.headers),
    },
    Rule {
        name: "probe",
        matches: |request| {
            request.longest_answer() == Some(1)
                && matches!(
                    request.last_text.trim().to_ascii_lowercase().as_str(),
                    "count" | "ping" | "quota" | "test" | "hi"
                )
        },
    },
    Rule {
        name: "title (claude code)",
        matches: |request| !request.prompt.has_tools() && request.asks_only_for_a_title(),
    },
    Rule {
        name: "title (codex)",
        matches: |request| request.last_text_starts("Generate a concise, single-line task title"),
    },
    Rule {
        name: "title (opencode)",
        matches: |request| !request.prompt.has_tools() && request.system_starts("You are a title generator"),
    },
    Rule {
        name: "title request",
        matches: |request| {
            !request.prompt.has_tools() && request.last_text_starts("Generate a title for this conversation")
        },
    },
    Rule {
        name: "classifier (auto mode)",
        matches: |request| {
            !request.prompt.stream()
                && !request.prompt.has_tools()
                && request.longest_answer() == Some(64)
                && request.prompt.members.get("stop_sequences").is_some_and(|stops| stops.contains("</block>"))
        },
    },
    Rule {
        name: "web search",
        matches: |request| {
            request.only_tool_type().is_some_and(|name| name.starts_with("web_search_"))
                && !request.prompt.body.contains("\"cache_control\"")
        },
    },
    Rule {
        name: "compaction (claude code)",
        matches: |request| request.last_text_starts("CRITICAL: Respond with TEXT ONLY"),
    },
    Rule {
        name: "compaction (codex)",
        matches: |request| !request.prompt.has_tools() && request.last_text_opens_with("CONTEXT CHECKPOINT COMPACTION"),
    },
    Rule {
        name: "compaction (vendor)",
        // The item asks the vendor for a summary instead of an answer, and is the last one.
        matches: |request| {
            let body = request.prompt.body;
            request.prompt.format == WireFormat::Responses
                && COMPACTION_TRIGGER.find(body.as_bytes()).is_some()
                && {
                    let items = Members::of(body.trim()).map(|members| members.elements("input")).unwrap_or_default();
                    matches!(items.last(), Some(Element::Object(item)) if item.string("type").as_deref() == Some("compaction_trigger"))
                }
        },
    },
    Rule {
        name: "compaction (opencode)",
        matches: |request| {
            let agent = "context summarization agent";
            !request.prompt.has_tools() && (request.system_opens_with(agent) || request.last_text_opens_with(agent))
        },
    },
    Rule { name: "suggestion", matches: |request| request.last_text_starts("[SUGGESTION MODE:") },
    Rule { name: "structured output", matches: |request| request.last_text_starts("[structured-output-enforce]") },
    Rule {
        name: "background notice",
        matches: |request| {
            let text = request.last_text.trim_start();
            let text = text.strip_prefix("<system-reminder>").unwrap_or(text).trim_start();
            text.starts_with("[SYSTEM NOTIFICATION - NOT USER INPUT]")
        },
    },
];

/// The rule that a request matches, `None` for a conversation request.
pub fn side_request(headers: &HeaderMap, prompt: &Prompt<'_>) -> Option<SideRequest> {
    let request = Request { headers, prompt, last_text: last_text(prompt) };
    RULES.iter().find(|rule| (rule.matches)(&request)).map(|rule| SideRequest(rule.name))
}

/// The last text block of the last user message.
fn last_text<'p>(prompt: &'p Prompt<'_>) -> &'p str {
    let last = prompt.messages.iter().rfind(|message| message.role == Role::User);
    last.and_then(|message| message.texts().last()).map(Passage::decoded).unwrap_or_default()
}

/// The most bytes from the start of a text in which a marker counts.
const OPENING: usize = 100;

fn opens_with(text: &str, words: &str) -> bool {
    let text = text.trim_start();
    text[..text.floor_char_boundary(OPENING)].contains(words)
}

impl Request<'_> {
    /// The limit of the answer in tokens, under each format's name for it.
    fn longest_answer(&self) -> Option<u64> {
        ["max_tokens", "max_completion_tokens", "max_output_tokens"]
            .iter()
            .find_map(|key| self.prompt.members.parse(key))
    }

    fn last_text_starts(&self, start: &str) -> bool {
        self.last_text.trim_start().starts_with(start)
    }

    fn last_text_opens_with(&self, words: &str) -> bool {
        opens_with(self.last_text, words)
    }

    fn system_starts(&self, start: &str) -> bool {
        self.any_system_text(|text| text.trim_start().starts_with(start))
    }

    fn system_opens_with(&self, words: &str) -> bool {
        self.any_system_text(|text| opens_with(text, words))
    }

    fn any_system_text(&self, is: impl Fn(&str) -> bool) -> bool {
        let messages = self.prompt.messages.iter().filter(|message| message.role == Role::System);
        let in_messages = messages.flat_map(Message::texts);
        // The markers are plain ASCII near the start, so the undecoded literal can be searched.
        self.prompt.system.iter().chain(in_messages).any(|text| is(&text.literal()[1..]))
    }

    /// `output_config.format` is a schema whose one property is `title`.
    fn asks_only_for_a_title(&self) -> bool {
        let title_only = || -> Option<bool> {
            let config: serde_json::Value = self.prompt.members.parse("output_config")?;
            let properties = config.pointer("/format/schema/properties")?.as_object()?;
            Some(properties.len() == 1 && properties.contains_key("title"))
        };
        title_only().unwrap_or(false)
    }

    /// The type of the request's only tool.
    fn only_tool_type(&self) -> Option<&str> {
        let [tool] = self.prompt.tools.as_slice() else { return None };
        tool.kind.as_deref()
    }
}

#[cfg(test)]
#[path = "golden.rs"]
mod golden;
