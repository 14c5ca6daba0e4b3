//! A receipt: what was added to one request, from where, why, and at what cost.

use std::path::Path;

use muninn_context_engine::explore::Trace;
use muninn_context_engine::{Item, ItemKind, Relevance};
use muninn_text::redact;
use muninn_wire::WireFormat;
use serde::{Deserialize, Serialize};

use super::pack_value::{Effect, Estimate, rounded};
use super::tries::{Placement, Try};

/// The number of a question's words that a receipt shows.
const FIRST_WORDS: usize = 12;
/// The most characters of these words.
const MOST_CHARACTERS: usize = 120;
/// Ends the words before the subject of a call.
const CALL: &str = "a call";
/// The bytes of a question in which they are looked for.
const LOOKED_AT: usize = 4 << 10;

/// The outcome of a request's context; also the value of the `x-muninn-context` response header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A new block was added.
    Injected,
    /// A new block was added without the index, which was not ready.
    Partial,
    /// Only earlier blocks were replayed.
    Replayed,
    /// Nothing was added.
    None,
    /// The client switched new context off.
    Off,
    /// The client asked for its request to be forwarded unchanged.
    Bypass,
    /// Muninn failed; the request was forwarded without context.
    Failed,
    /// No request: a model explored for an earlier turn, or from the command line.
    Explored,
    /// No request: a model summarised a conversation.
    Summed,
    /// No request: a model compared memories for a reconcile run.
    Reconciled,
}

impl Outcome {
    /// The name in headers, logs and receipts.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Injected => "injected",
            Outcome::Partial => "partial",
            Outcome::Replayed => "replayed",
            Outcome::None => "none",
            Outcome::Off => "off",
            Outcome::Bypass => "bypass",
            Outcome::Failed => "failed",
            Outcome::Explored => "explored",
            Outcome::Summed => "summed",
            Outcome::Reconciled => "reconciled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreamblePart {
    /// Its name.
    pub part: String,
    /// The characters that were added.
    pub characters: usize,
}

/// One item of a pack.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReceiptItem {
    /// `code`, `place`, `memory`, `knowledge` or `personal`.
    pub kind: String,
    /// `path:first-last`, the path of a place without lines, the id of a memory, `journal:section#commit`, or `personal:file`.
    pub source: String,
    /// Git's id of the file's content at the time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub blob: Option<String>,
    /// The time at which a memory was recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub date: Option<String>,
    /// The confidence of a memory, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<f64>,
    /// Cost in tokens.
    pub tokens: u32,
    /// The score; higher is better, comparable only within one receipt.
    pub score: f64,
    /// The reason for the match.
    pub why: String,
    /// Whether the agent then edited, cited or read the file, or used the note; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub used: Option<bool>,
    /// Whether the agent then edited the file; `None` where `used` is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub edited: Option<bool>,
}

impl ReceiptItem {
    /// The kind of texts of personal memory, and the name of that part of a preamble.
    pub const PERSONAL: &str = "personal";
}

impl From<&Item> for ReceiptItem {
    fn from(item: &Item) -> Self {
        let kind = match item.kind {
            ItemKind::Code => "code",
            ItemKind::Place => "place",
            ItemKind::Memory => "memory",
            ItemKind::Hint => "hint",
            ItemKind::Knowledge => "knowledge",
            ItemKind::Personal => Self::PERSONAL,
        };
        ReceiptItem {
            kind: kind.to_owned(),
            source: item.source.clone(),
            blob: item.blob.clone(),
            date: item.date.clone(),
            confidence: item.confidence.map(rounded),
            tokens: item.tokens,
            score: rounded(item.score),
            why: item.why.clone(),
            used: None,
            edited: None,
        }
    }
}

/// The replayed blocks.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Replays {
    /// The number of blocks.
    pub blocks: usize,
    pub tokens: u32,
}

/// The group of a conversation under `[context] holdout`, and what one request of it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Whether the conversation goes without context.
    pub held_out: bool,
    /// The answered tool calls in the request's messages.
    pub calls: u32,
    /// The tokens of the prompt and the answer, as the backend counted them; absent until the answer is over.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<u64>,
}

/// The receipt of one request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Receipt {
    /// The request's id, a ULID.
    pub id: String,
    /// The time of its arrival, RFC 3339.
    pub at: String,
    /// The request's wire format.
    pub format: String,
    /// The name of the access key, if one was used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// The client's session, if it named one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// A name for the conversation if the client named no session, derived from its opening. Conversations with the
    /// same opening share it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub derived: Option<String>,
    /// The subagent that sent the request, if the client named one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The number of the human turn within the request, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn: Option<u32>,
    /// The session's worktree; the served worktree if the session is outside of all worktrees.
    pub worktree: String,
    /// The question's first words, redacted.
    pub first_words: String,
    /// The requested model.
    pub model: String,
    /// The backend that answered.
    pub backend: String,
    /// The number of the backend's key, from 1, if it has several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backend_key: Option<usize>,
    /// Why the conversation went there; absent without a choice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub placement: Option<Placement>,
    /// The status of the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// The backend's wire format, if it differs from the request's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spoken: Option<String>,
    /// The fields that the conversions of the request and of the answer dropped, with counts. Those of the answer begin
    /// with `answer.`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub dropped: Vec<(String, u32)>,
    /// All attempts, if there was more than one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tries: Vec<Try>,
    /// The outcome of its context.
    pub outcome: Outcome,
    /// The reason why nothing, or only a part, was added.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// How probable it is that the question is about the repository, with the words for and against.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub relevance: Option<Relevance>,
    /// The group of the conversation; absent without `[context] holdout`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trial: Option<Trial>,
    /// The rule that recognised a side request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub side_request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exploration: Option<Box<Trace>>,
    /// The receipts of background explorations whose results were added.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub entered: Vec<String>,
    /// The parts of the preamble at the beginning of the added block. The estimate does not count them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub preamble: Vec<PreamblePart>,
    /// The items of the added pack.
    pub items: Vec<ReceiptItem>,
    /// The tokens of the added block, fence included.
    pub tokens: u32,
    /// The estimated value of the added block; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub estimate: Option<Estimate>,
    /// The effect of the added map; absent until it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effect: Option<Effect>,
    /// The replayed blocks.
    pub replayed: Replays,
    /// Milliseconds from arrival to sending.
    pub ms: f64,
    /// The part of `ms` for exploring and packing.
    pub explore_ms: f64,
    /// The part of `ms` for writing the ledger.
    pub ledger_ms: f64,
}

impl Receipt {
    /// The name of the conversation: the client's session, or the derived name.
    pub fn conversation(&self) -> Option<&str> {
        self.session.as_deref().or(self.derived.as_deref())
    }

    /// Notes how probable it is that the question is about the repository, in whole percent.
    pub fn note_relevance(&mut self, relevance: Option<Relevance>) {
        self.relevance = relevance
            .map(|relevance| Relevance { probability: (relevance.probability * 100.0).round() / 100.0, ..relevance });
    }

    /// An empty receipt with the present time, for a question.
    pub fn of(id: String, worktree: &Path, question: &str) -> Receipt {
        Receipt {
            id,
            at: jiff::Timestamp::now()
                .round(jiff::Unit::Millisecond)
                .unwrap_or_else(|_| jiff::Timestamp::now())
                .to_string(),
            format: String::new(),
            key: None,
            session: None,
            derived: None,
            agent: None,
            turn: None,
            worktree: worktree.display().to_string(),
            first_words: Receipt::first_words_of(question),
            model: String::new(),
            backend: String::new(),
            backend_key: None,
            placement: None,
            status: None,
            spoken: None,
            dropped: Vec::new(),
            tries: Vec::new(),
            outcome: Outcome::None,
            reason: None,
            relevance: None,
            trial: None,
            side_request: None,
            exploration: None,
            entered: Vec::new(),
            preamble: Vec::new(),
            items: Vec::new(),
            tokens: 0,
            estimate: None,
            effect: None,
            replayed: Replays::default(),
            ms: 0.0,
            explore_ms: 0.0,
            ledger_ms: 0.0,
        }
    }

    /// The realised gain and the price of its map; `None` while the effect is unknown, and without a map.
    pub fn measured(&self) -> Option<(f64, f64)> {
        Some((self.effect?.gain?, self.estimate?.price))
    }

    /// The reason of a block of notes about a call: when it was added, and what the call is about.
    pub fn about_call(when: &str, subject: &str) -> String {
        format!("{when} {CALL}: {subject}")
    }

    /// Whether the block holds notes about a call, and no answer to a question.
    pub fn is_about_call(&self) -> bool {
        let starts = |reason: &String| reason.split_once(':').is_some_and(|(when, _)| when.ends_with(CALL));
        self.reason.as_ref().is_some_and(starts)
    }

    /// The first words of a question, redacted.
    pub fn first_words_of(question: &str) -> String {
        // Joined words could hide a secret that a line end divides.
        let beginning = redact(&question[..question.floor_char_boundary(LOOKED_AT)]);
        let words: Vec<_> = beginning.split_whitespace().take(FIRST_WORDS).collect();
        let mut words = words.join(" ");
        words.truncate(words.char_indices().nth(MOST_CHARACTERS).map_or(words.len(), |(at, _)| at));
        words
    }

    pub fn format_name(format: WireFormat) -> &'static str {
        match format {
            WireFormat::Chat => "chat",
            WireFormat::Messages => "messages",
            WireFormat::Responses => "responses",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipt_of_an_earlier_version_is_read() {
        let old = r#"{"id":"01","at":"2026-11-01T00:00:00Z","format":"chat","session":"s","worktree":"/w","first_words":"x","model":"m","backend":"b","outcome":"none","items":[],"tokens":0,"replayed":{"blocks":0,"tokens":0},"ms":0.1,"explore_ms":0.0,"ledger_ms":0.0}"#;
        let receipt: Receipt = serde_json::from_str(old).unwrap();
        assert_eq!(receipt.measured(), None);
        assert_eq!((receipt.estimate, receipt.effect), (None, None));
        assert_eq!(receipt.session.as_deref(), Some("s"));
        assert_eq!((receipt.agent, receipt.turn, receipt.derived), (None, None, None));
    }
}
