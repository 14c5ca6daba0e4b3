use std::collections::HashSet;
use std::sync::Arc;

use muninn_notebooks::personal::{Personal, SignalContext};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// The turns that are remembered, so that one that is observed twice is logged once.
pub(crate) const MOST_KNOWN: usize = 10_000;

/// The most sources of a search that are logged.
pub(crate) const MOST_SOURCES: usize = 20;

/// The tools that search, and the argument that says for what.
pub(crate) const SEARCHES: [(&str, &str); 5] = [
    ("find_context", "question"),
    ("recall", "question"),
    ("search_memory", "query"),
    ("search_pages", "query"),
    ("journal_search", "content"),
];

/// The keys of a result that say where a text is from.
pub(crate) const SOURCE_KEYS: [&str; 5] = ["source", "path", "id", "commit_id", "receipt"];

/// Where events are logged.
#[derive(Clone)]
pub struct SignalLog {
    pub(crate) personal: Arc<Personal>,
    pub(crate) keep_days: u32,
    pub(crate) known: Arc<Mutex<HashSet<String>>>,
}

impl SignalLog {
    /// Logs an event. An error is only reported: no session waits for it.
    pub(crate) fn log(&self, kind: &str, context: SignalContext, raw: Option<Value>) {
        if let Err(error) = self.personal.log_signal(kind, Some(context), raw, self.keep_days) {
            tracing::warn!("a signal is not logged: {error}");
        }
    }

    /// Whether a turn is seen for the first time.
    pub(super) fn is_new(&self, mark: String) -> bool {
        let mut known = self.known.lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(mark)
    }

    /// Logs a search with what it found, if a call is one.
    pub(super) fn log_call(&self, tool: &str, arguments: &Map<String, Value>, found: Option<&str>) {
        let argument = SEARCHES.iter().find(|(name, _)| *name == tool).map(|(_, argument)| argument);
        let Some(argument) = argument else { return };
        let query = arguments.get(*argument).and_then(Value::as_str);
        let mut sources = Vec::new();
        if let Some(found) = found.and_then(|found| serde_json::from_str(found).ok()) {
            gather(&found, &mut sources);
        }
        let context = SignalContext {
            query: query.map(str::to_owned),
            trigger: Some(tool.to_owned()),
            ..SignalContext::default()
        };
        self.log("search", context, Some(json!({"retrieved": sources})));
    }
}

/// The sources in a structured result, in their order.
pub(crate) fn gather(found: &Value, sources: &mut Vec<String>) {
    match found {
        Value::Array(values) => values.iter().for_each(|value| gather(value, sources)),
        Value::Object(values) => {
            for (key, value) in values {
                match value.as_str() {
                    Some(source) if SOURCE_KEYS.contains(&&**key) && sources.len() < MOST_SOURCES => {
                        sources.push(source.to_owned());
                    }
                    _ => gather(value, sources),
                }
            }
        }
        _ => {}
    }
}
