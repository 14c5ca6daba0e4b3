//! A cache of results about texts, by the hash of the text: most texts of prompts recur.

use std::collections::HashMap;

use parking_lot::Mutex;

/// The most texts that are known. Then all are forgotten.
const MOST: usize = 16 << 10;

/// Values by the hash of a text.
pub(crate) struct KnownTexts<V>(Mutex<Option<HashMap<[u8; 16], V>>>);

impl<V: Copy> KnownTexts<V> {
    pub(crate) const fn new() -> KnownTexts<V> {
        KnownTexts(Mutex::new(None))
    }

    /// The value of a text: the cached one, or that which `find` returns. `None` is not cached.
    pub(crate) fn get(&self, text: &str, find: impl FnOnce() -> Option<V>) -> Option<V> {
        let hash = blake3::hash(text.as_bytes());
        let key = *hash.as_bytes().first_chunk::<16>()?;
        let known = self.0.lock().as_ref().and_then(|known| known.get(&key).copied());
        known.or_else(|| {
            let value = find()?;
            let mut known = self.0.lock();
            let known = known.get_or_insert_default();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(key, value);
            Some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_examined_once_until_too_many_are_known() {
        let known = KnownTexts::new();
        let mut examined = 0;
        for _ in 0..3 {
            let value = known.get("a", || {
                examined += 1;
                Some(7)
            });
            assert_eq!(value, Some(7));
        }
        assert_eq!(examined, 1);
        assert_eq!((known.get("b", || None), known.get("b", || Some(8))), (None, Some(8)), "nothing is known of it");
        for other in 0..MOST {
            known.get(&format!("other {other}"), || Some(0));
        }
        assert_eq!(known.get("a", || Some(9)), Some(9), "it was forgotten");
    }
}
