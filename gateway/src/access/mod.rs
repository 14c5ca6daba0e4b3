//! Who may ask: access keys, what each of them may use, and how often.
//!
//! A gateway on loopback without keys serves every program of its machine, as before. With keys every request needs one,
//! from wherever it comes; and an address that other machines reach is only listened on with keys. A key is authority
//! over Muninn alone: it is taken off a request at the door, so nothing behind it can pass it on, log it or keep it.

mod caller;
mod headers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use thiserror::Error;

use crate::config::KeyConfig;
use crate::secrets::KeyHash;
use crate::store::Counters;
use crate::wire::error::ErrorKind;

pub use caller::{Caller, Forbidden};
pub use headers::{names_key, remove_keys};

/// The keys of one configuration, ready to be asked.
#[derive(Debug, Clone, Default)]
pub struct Access {
    keys: Arc<[Arc<KeyConfig>]>,
}

/// Why a request is not served. No variant holds the key that was tried.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Denied {
    /// It brought no key.
    #[error(
        "this gateway needs an access key: send it as `x-muninn-key`, as `Authorization: Bearer muninn-...` or as `x-api-key: muninn-...`"
    )]
    Missing,
    /// It brought one that is not configured.
    #[error("the access key is not known here")]
    Unknown,
    /// The key has asked often enough for now.
    #[error("the access key `{key}` may ask {limit} times a minute; try again in {} s", seconds(*wait))]
    TooMany {
        /// The key's name.
        key: String,
        /// Requests per minute.
        limit: u32,
        /// How long to wait until the next one is served.
        wait: Duration,
    },
}

impl Denied {
    /// How a client is told.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Denied::Missing | Denied::Unknown => ErrorKind::Authentication,
            Denied::TooMany { .. } => ErrorKind::RateLimit,
        }
    }

    /// The value of `retry-after` in whole seconds, where waiting helps.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Denied::TooMany { wait, .. } => Some(seconds(*wait)),
            Denied::Missing | Denied::Unknown => None,
        }
    }
}

/// Rounded up, and at least one: a client that comes back a moment early is refused again.
fn seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

impl Access {
    /// The keys of a configuration.
    #[must_use]
    pub fn new(keys: &[KeyConfig]) -> Access {
        Access {
            keys: keys.iter().cloned().map(Arc::new).collect(),
        }
    }

    /// Whether there are no keys, so that anybody who reaches the gateway may ask.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.keys.is_empty()
    }

    /// Tells who asks by the request's headers. Where no keys are configured everybody is [`Caller::anonymous`], whatever
    /// key they bring.
    ///
    /// # Errors
    /// [`Denied::Missing`] or [`Denied::Unknown`].
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        if self.is_open() {
            return Ok(Caller::anonymous());
        }
        let presented = headers::presented(headers).ok_or(Denied::Missing)?;
        let hash = KeyHash::of_key(presented).ok_or(Denied::Unknown)?;
        self.find(|key| key.hash == hash)
            .map(Caller::holding)
            .ok_or(Denied::Unknown)
    }

    /// The key that fits. All are looked at whatever fitted before, and each comparison takes the same time, so that the
    /// time of an answer says nothing about the keys there are.
    fn find(&self, mut fits: impl FnMut(&KeyConfig) -> bool) -> Option<Arc<KeyConfig>> {
        let mut found = None;
        for key in self.keys.iter() {
            if fits(key) {
                found = Some(key);
            }
        }
        found.cloned()
    }
}

impl Caller {
    /// Counts a request, unless the key has made as many as it may within the last minute. Uses are counted by the key's
    /// name, whatever else about it changes: reading the configuration again is no way to more requests. Where nobody
    /// counts, the request is let in.
    ///
    /// # Errors
    /// [`Denied::TooMany`]; such a request is not counted.
    pub async fn admit(&self, counters: &dyn Counters, now: Instant) -> Result<(), Denied> {
        let Some((key, limit)) = self.limit() else {
            return Ok(());
        };
        let counted = counters.count_use(key, limit, now).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the requests of the access key `{key}` are not counted");
            Ok(())
        });
        counted.map_err(|wait| Denied::TooMany {
            key: key.to_owned(),
            limit,
            wait,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::store::LocalCounters;

    fn config(name: &str, key: &str, limit: Option<u32>) -> KeyConfig {
        KeyConfig {
            name: name.to_owned(),
            hash: KeyHash::of_key(key).unwrap(),
            models: None,
            backends: None,
            roots: None,
            requests_per_minute: limit,
        }
    }

    fn key(digit: char) -> String {
        format!("muninn-{}", digit.to_string().repeat(64))
    }

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        let pair =
            |(name, value): &(&'static str, String)| (http::HeaderName::from_static(name), value.parse().unwrap());
        pairs.iter().map(pair).collect()
    }

    fn name_of(access: &Access, pairs: &[(&'static str, String)]) -> Result<String, Denied> {
        let caller = access.authenticate(&headers(pairs))?;
        Ok(caller.name().to_owned())
    }

    #[test]
    fn a_key_is_known_in_each_of_its_places() {
        let access = Access::new(&[config("ana", &key('a'), None), config("ben", &key('b'), None)]);
        for place in [
            ("x-muninn-key", key('b')),
            ("authorization", format!("Bearer {}", key('b'))),
            ("authorization", format!("bearer  {}", key('b'))),
            ("x-api-key", key('b')),
        ] {
            assert_eq!(name_of(&access, &[place]), Ok("ben".to_owned()));
        }
        let vendors = ("authorization", "Bearer sk-ant-0000".to_owned());
        assert_eq!(
            name_of(&access, &[vendors.clone(), ("x-muninn-key", key('a'))]),
            Ok("ana".to_owned())
        );
        assert_eq!(name_of(&access, &[vendors]), Err(Denied::Missing));
        assert_eq!(name_of(&access, &[]), Err(Denied::Missing));
        for wrong in [
            key('c'),
            key('a').to_uppercase(),
            key('a')[..70].to_owned(),
            String::new(),
        ] {
            assert_eq!(name_of(&access, &[("x-muninn-key", wrong)]), Err(Denied::Unknown));
        }
        // The place that is ours alone decides, whatever stands elsewhere.
        assert_eq!(
            name_of(&access, &[("x-muninn-key", key('c')), ("x-api-key", key('a'))]),
            Err(Denied::Unknown)
        );
    }

    #[test]
    fn without_keys_everybody_may_ask() {
        let access = Access::new(&[]);
        let caller = access.authenticate(&headers(&[("x-muninn-key", key('a'))])).unwrap();
        assert_eq!(caller.name(), "");
        assert!(!caller.is_restricted());
    }

    #[test]
    fn every_key_is_looked_at_whatever_fitted() {
        let keys: Vec<_> = "abcd"
            .chars()
            .map(|digit| config(&digit.to_string(), &key(digit), None))
            .collect();
        let access = Access::new(&keys);
        for fitting in ["a", "d", "none"] {
            let mut looked_at = Vec::new();
            access.find(|key| {
                looked_at.push(key.name.clone());
                key.name == fitting
            });
            assert_eq!(looked_at, ["a", "b", "c", "d"], "{fitting}");
        }
    }

    #[test]
    fn reading_the_configuration_again_gives_no_fresh_minute() {
        let (counters, start) = (LocalCounters::default(), Instant::now());
        let access = Access::new(&[config("ana", &key('a'), Some(2))]);
        let admitted = |access: &Access, key: &str| {
            let caller = access
                .authenticate(&headers(&[("x-muninn-key", key.to_owned())]))
                .unwrap();
            caller.admit(&counters, start).now_or_never().unwrap()
        };
        assert!(admitted(&access, &key('a')).is_ok());
        assert!(admitted(&access, &key('a')).is_ok());
        let again = Access::new(&[config("ana", &key('b'), Some(2)), config("ben", &key('c'), Some(2))]);
        let denied = admitted(&again, &key('b')).unwrap_err();
        assert_eq!(denied.retry_after(), Some(60));
        assert_eq!(denied.kind(), ErrorKind::RateLimit);
        assert!(admitted(&again, &key('c')).is_ok());
    }
}
