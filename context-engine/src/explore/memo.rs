//! Calls that were made before, and what came of them.
//!
//! Models repeat themselves: about a third of all calls of parallel explorers are repeats. A call is made once in a whole
//! tree of explorations; who asks again, also at the same moment, gets the same result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use muninn_repo_tools::RelPath;
use serde_json::{Map, Value};

use crate::tools::Output;

/// The key of a call. The order of its arguments does not matter, pages of one result are one call, and the same arguments
/// are another call in another scope.
pub(super) fn key(scope: Option<&RelPath>, tool: &str, call: &Map<String, Value>) -> String {
    let mut arguments: Vec<_> = call.iter().filter(|(name, _)| *name != "page").collect();
    arguments.sort_by_key(|(name, _)| name.as_str());
    let arguments: Vec<String> = arguments
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{}: {tool}({})", scope.map_or("", RelPath::as_str), arguments.join(","))
}

/// Results by call. Shared by all explorations of one tree.
#[derive(Default)]
pub(crate) struct Memo {
    slots: Mutex<HashMap<String, Arc<OnceLock<Arc<Output>>>>>,
}

impl Memo {
    /// The result of a call, made by `make` unless it was made before; whether it was.
    pub(crate) fn get(&self, key: &str, make: impl FnOnce() -> Output) -> (Arc<Output>, bool) {
        let slot = self.slot(key);
        let mut made = false;
        let output = slot.get_or_init(|| {
            made = true;
            Arc::new(make())
        });
        (Arc::clone(output), !made)
    }

    /// Whether a call was made, or is being made.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.slots().contains_key(key)
    }

    /// Keeps the result of a call that was made elsewhere.
    pub(crate) fn put(&self, key: &str, output: Arc<Output>) {
        let _made_meanwhile = self.slot(key).set(output);
    }

    fn slot(&self, key: &str) -> Arc<OnceLock<Arc<Output>>> {
        Arc::clone(self.slots().entry(key.to_owned()).or_default())
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<OnceLock<Arc<Output>>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_made_once_however_many_ask_at_the_same_time() {
        let (memo, made) = (Memo::default(), AtomicUsize::new(0));
        let repeats: usize = std::thread::scope(|scope| {
            let ask = || {
                let make = || {
                    made.fetch_add(1, Ordering::Relaxed);
                    Output::of("found")
                };
                memo.get("grep x", make).1
            };
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking
                .into_iter()
                .filter_map(|one| one.join().ok())
                .filter(|repeat| *repeat)
                .count()
        });
        assert_eq!((made.load(Ordering::Relaxed), repeats), (1, 7));
        assert!(memo.has("grep x") && !memo.has("grep y"));
    }

    #[test]
    fn the_same_call_has_the_same_key_in_any_order_and_on_any_page() {
        let key = |call: Value| key(None, "grep", call.as_object().unwrap());
        let one = key(json!({"a": 1, "b": "x", "page": 2}));
        assert_eq!(one, key(json!({"b": "x", "a": 1})));
        assert_ne!(one, key(json!({"a": 1, "b": "y"})));
    }
}
