//! A cache of tool results.
//!
//! About a third of all calls of parallel explorers are repetitions. In a tree of explorations, each call is made once.
//! Repeated calls get the result of the first call, also if they run concurrently.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use muninn_base::RelPath;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::tools::Output;

/// Returns the key of a call. The key depends on scope, tool and arguments, but not on the order of the arguments or on
/// the page.
pub(super) fn key(scope: Option<&RelPath>, tool: &str, call: &Map<String, Value>) -> String {
    let mut arguments: Vec<_> = call.iter().filter(|(name, _)| *name != "page").collect();
    arguments.sort_by_key(|(name, _)| name.as_str());
    let arguments: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{}: {tool}({})", scope.map_or("", RelPath::as_str), arguments.join(","))
}

/// Tool results by call key, shared by all explorations of one tree.
#[derive(Default)]
pub(crate) struct CallCache {
    slots: Mutex<HashMap<String, Arc<OnceLock<Arc<Output>>>>>,
}

impl CallCache {
    /// Returns the result of a call, and whether the result was cached. If it was not cached, `make` makes the call.
    pub(crate) fn get(&self, key: &str, make: impl FnOnce() -> Output) -> (Arc<Output>, bool) {
        let slot = self.slot(key);
        let mut made = false;
        let output = slot.get_or_init(|| {
            made = true;
            Arc::new(make())
        });
        (Arc::clone(output), !made)
    }

    /// Returns whether a call was made, or is being made.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.slots().contains_key(key)
    }

    /// Adds the result of a call, unless the cache already contains one.
    pub(crate) fn put(&self, key: &str, output: Arc<Output>) {
        self.slot(key).set(output).ok();
    }

    fn slot(&self, key: &str) -> Arc<OnceLock<Arc<Output>>> {
        Arc::clone(self.slots().entry(key.to_owned()).or_default())
    }

    fn slots(&self) -> parking_lot::MutexGuard<'_, HashMap<String, Arc<OnceLock<Arc<Output>>>>> {
        self.slots.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    #[test]
    fn concurrent_repetitions_make_a_call_once() {
        let (cache, made) = (CallCache::default(), AtomicUsize::new(0));
        let repeats: usize = std::thread::scope(|scope| {
            let ask = || {
                let make = || {
                    made.fetch_add(1, Ordering::Relaxed);
                    Output::from_text("found")
                };
                cache.get("grep x", make).1
            };
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().filter_map(|one| one.join().ok()).filter(|repeat| *repeat).count()
        });
        assert_eq!((made.load(Ordering::Relaxed), repeats), (1, 7));
        assert!(cache.has("grep x") && !cache.has("grep y"));
    }

    #[test]
    fn the_key_ignores_argument_order_and_page() {
        let key = |call: Value| key(None, "grep", call.as_object().unwrap());
        let one = key(json!({"a": 1, "b": "x", "page": 2}));
        assert_eq!(one, key(json!({"b": "x", "a": 1})));
        assert_ne!(one, key(json!({"a": 1, "b": "y"})));
    }
}
