//! Affinity: a conversation stays at the backend, and at the key, that answered it, for as long as its prompt cache lives
//! there.
//!
//! Vendors cache the beginning of a prompt for five minutes after its last use, or for an hour where the request asks for
//! it. Another backend, or a key of another account, reads the whole prompt anew. So a conversation goes where it was answered
//! last, even if that was a fallback. A conversation that is kept nowhere goes where the least is under way.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_ledger::Placement;
use muninn_wire::CacheLife;
use parking_lot::Mutex;

use super::{Backend, Candidate};

/// The most conversations that are kept. Beyond it the oldest half is forgotten.
const MOST: usize = 1 << 14;

/// The places of all conversations of a process.
#[derive(Default)]
pub(crate) struct Places {
    names: RandomState,
    kept: Mutex<HashMap<u64, Place>>,
}

struct Place {
    backend: String,
    key: Option<usize>,
    life: CacheLife,
    used: Instant,
}

impl Place {
    fn is(&self, backend: &Backend) -> bool {
        self.key == backend.key_number && self.backend == backend.name
    }

    fn lives(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.used) < self.life.duration()
    }
}

impl Places {
    /// The conversations whose prompt caches live at this backend, with this key.
    fn count(&self, backend: &Backend, now: Instant) -> usize {
        self.kept.lock().values().filter(|place| place.is(backend) && place.lives(now)).count()
    }

    /// Sorts candidates between which there is no preference: first those with the fewest requests under way, then those with
    /// the fewest conversations.
    pub(crate) fn sort_by_load(&self, peers: &mut [Candidate], now: Instant) {
        if peers.len() > 1 {
            peers.sort_by_cached_key(|peer| (peer.backend.load.count(), self.count(&peer.backend, now)));
        }
    }
}

/// A conversation and its place.
#[derive(Clone)]
pub struct Conversation {
    places: Arc<Places>,
    id: u64,
}

impl Conversation {
    pub(crate) fn new(places: &Arc<Places>, names: [&str; 3]) -> Conversation {
        Conversation { places: Arc::clone(places), id: places.names.hash_one(names) }
    }

    /// How long its prompt cache lives, where it is kept.
    pub fn life(&self, now: Instant) -> Option<CacheLife> {
        let kept = self.places.kept.lock();
        kept.get(&self.id).filter(|place| place.lives(now)).map(|place| place.life)
    }

    /// Whether the map has a place for it, even one whose cache lives no longer.
    pub fn is_known(&self) -> bool {
        self.places.kept.lock().contains_key(&self.id)
    }

    /// Moves the candidate where it is kept to the front; `None` without a choice.
    pub fn place(&self, candidates: &mut [Candidate], now: Instant) -> Option<Placement> {
        if candidates.len() < 2 {
            return None;
        }
        let kept = self.places.kept.lock();
        let place = kept.get(&self.id).filter(|place| place.lives(now));
        let at = place.and_then(|place| candidates.iter().position(|candidate| place.is(&candidate.backend)));
        match at {
            Some(at) => {
                candidates[..=at].rotate_right(1);
                Some(Placement::Kept)
            }
            None => Some(Placement::New),
        }
    }

    /// Keeps it at the backend that answered it.
    pub fn keep(&self, backend: &Backend, life: CacheLife, used: Instant) {
        let mut kept = self.places.kept.lock();
        if kept.len() >= MOST && !kept.contains_key(&self.id) {
            forget(&mut kept, used);
        }
        kept.insert(self.id, Place { backend: backend.name.clone(), key: backend.key_number, life, used });
    }

    /// Notes how long the backend says that the prompt is cached.
    pub fn note_life(&self, life: CacheLife) {
        if let Some(place) = self.places.kept.lock().get_mut(&self.id) {
            place.life = life;
        }
    }
}

/// Forgets the conversations whose caches live no longer; if that is less than half, the half that was used the longest ago.
fn forget(kept: &mut HashMap<u64, Place>, now: Instant) {
    kept.retain(|_, place| place.lives(now));
    if kept.len() > MOST / 2 {
        let mut ages: Vec<Duration> = kept.values().map(|place| now.saturating_duration_since(place.used)).collect();
        let (_, median, _) = ages.select_nth_unstable(MOST / 2);
        let median = *median;
        kept.retain(|_, place| now.saturating_duration_since(place.used) < median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Circuits;
    use muninn_config::secrets::Secret;
    use muninn_config::{BackendConfig, LimitsConfig};
    use muninn_wire::WireFormat;

    /// A candidate for each key of a backend.
    fn candidates(name: &str, keys: usize) -> Vec<Candidate> {
        let config = BackendConfig {
            further_keys: (1..keys).map(|key| Secret::new(key.to_string())).collect(),
            ..BackendConfig::new(
                name.to_owned(),
                "http://a".to_owned(),
                vec![WireFormat::Chat],
                &LimitsConfig::default(),
            )
        };
        let backend = Arc::new(Backend::new(config, &Circuits::local()));
        let keys = std::iter::once(&backend).chain(&backend.further);
        let candidate =
            |backend: &Arc<Backend>| Candidate { backend: Arc::clone(backend), format: WireFormat::Chat, rename: None };
        keys.map(candidate).collect()
    }

    fn first(candidates: &[Candidate]) -> (&str, Option<usize>) {
        (&candidates[0].backend.name, candidates[0].backend.key_number)
    }

    #[test]
    fn a_conversation_is_kept_for_as_long_as_its_cache_lives() {
        let places = Arc::new(Places::default());
        let conversation = Conversation::new(&places, ["key", "a", "m"]);
        let start = Instant::now();
        let all = || [candidates("one", 2), candidates("two", 1)].concat();
        let mut order = all();
        assert_eq!(conversation.place(&mut order, start), Some(Placement::New));
        assert_eq!(first(&order), ("one", Some(1)));
        conversation.keep(&order[2].backend, CacheLife::FiveMinutes, start);
        for (seconds, expected) in [(0, Placement::Kept), (299, Placement::Kept), (300, Placement::New)] {
            let mut order = all();
            let now = start + Duration::from_secs(seconds);
            assert_eq!(conversation.place(&mut order, now), Some(expected), "{seconds}");
            assert_eq!(first(&order).0, if expected == Placement::Kept { "two" } else { "one" });
            assert_eq!(order.len(), 3);
        }
        // The life that an answer reports begins at the last use.
        conversation.note_life(CacheLife::Hour);
        let later = start + Duration::from_mins(59);
        assert_eq!(conversation.life(later), Some(CacheLife::Hour));
        assert_eq!(conversation.place(&mut all(), later), Some(Placement::Kept));
        assert_eq!(conversation.life(start + Duration::from_mins(60)), None);
        for names in [["other", "a", "m"], ["key", "b", "m"], ["key", "a", "n"]] {
            assert_eq!(Conversation::new(&places, names).place(&mut all(), later), Some(Placement::New));
        }
        // A place that the request cannot go to is none, and one candidate is no choice.
        assert_eq!(conversation.place(&mut candidates("one", 2), later), Some(Placement::New));
        assert_eq!(conversation.place(&mut candidates("two", 1), later), None);
    }

    #[test]
    fn new_conversations_go_where_the_least_is_under_way_and_then_where_the_fewest_live() {
        let (places, now) = (Arc::new(Places::default()), Instant::now());
        let mut peers = candidates("one", 3);
        for (number, key) in [1, 1, 2].into_iter().enumerate() {
            let name = number.to_string();
            let conversation = Conversation::new(&places, ["", &name, "m"]);
            conversation.keep(&peers[key - 1].backend, CacheLife::FiveMinutes, now);
        }
        let sorted = |peers: &mut Vec<Candidate>, now| {
            places.sort_by_load(peers, now);
            peers.iter().filter_map(|peer| peer.backend.key_number).collect::<Vec<_>>()
        };
        assert_eq!(sorted(&mut peers, now), [3, 2, 1]);
        let under_way = peers[0].backend.load.begin();
        assert_eq!(sorted(&mut peers, now), [2, 1, 3]);
        drop(under_way);
        assert_eq!(sorted(&mut peers, now), [3, 2, 1]);
        // Caches that live no longer are no load.
        peers.sort_by_key(|peer| peer.backend.key_number);
        assert_eq!(sorted(&mut peers, now + Duration::from_mins(5)), [1, 2, 3]);
    }

    #[test]
    fn the_oldest_conversations_are_forgotten_first() {
        let (places, start) = (Arc::new(Places::default()), Instant::now());
        let backend = &candidates("one", 1)[0].backend;
        let conversation = |number: usize| Conversation::new(&places, ["", &number.to_string(), "m"]);
        for number in 0..=MOST {
            conversation(number).keep(backend, CacheLife::Hour, start + Duration::from_millis(number as u64));
        }
        assert!(places.kept.lock().len() <= MOST / 2 + 1);
        assert!(conversation(MOST).is_known() && conversation(MOST - 1).is_known() && !conversation(0).is_known());
    }
}
