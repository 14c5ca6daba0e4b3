//! Access keys: authentication, permissions and rate limits.
//!
//! A gateway on loopback without keys serves every program of the machine. If keys are configured, every request needs
//! one, also from loopback. Muninn listens on addresses that other machines can reach only if keys are configured. An
//! access key is valid for Muninn only: the door removes it from the request, so that no later code can forward, log or
//! store it.

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
pub use headers::{contains_key, remove_keys};

/// The access keys of one configuration.
#[derive(Debug, Clone, Default)]
pub struct Access {
    keys: Arc<[Arc<KeyConfig>]>,
}

/// The reason why a request is refused. No variant holds the presented key.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Denied {
    /// The request has no key.
    #[error(
        "this gateway needs an access key: send it as `x-muninn-key`, as `Authorization: Bearer muninn-...` or as `x-api-key: muninn-...`"
    )]
    Missing,
    /// The key is not configured.
    #[error("the access key is unknown to this gateway")]
    Unknown,
    /// The key has reached its rate limit.
    #[error("the access key `{key}` is limited to {limit} requests per minute; retry in {} s", seconds(*wait))]
    TooMany {
        /// The key's name.
        key: String,
        /// Requests per minute.
        limit: u32,
        /// The time until the next request is admitted.
        wait: Duration,
    },
}

impl Denied {
    /// The kind of error that the client gets.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Denied::Missing | Denied::Unknown => ErrorKind::Authentication,
            Denied::TooMany { .. } => ErrorKind::RateLimit,
        }
    }

    /// The value of `retry-after` in whole seconds, if waiting helps.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Denied::TooMany { wait, .. } => Some(seconds(*wait)),
            Denied::Missing | Denied::Unknown => None,
        }
    }
}

/// Rounds a time up to whole seconds, at least one, because a client that retries too early is refused again.
fn seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

impl Access {
    /// Creates the access rules of a configuration's keys.
    #[must_use]
    pub fn new(keys: &[KeyConfig]) -> Access {
        Access {
            keys: keys.iter().cloned().map(Arc::new).collect(),
        }
    }

    /// Whether no keys are configured, so that every client is served.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the caller by the request's headers. If no keys are configured, every caller is [`Caller::anonymous`],
    /// even with a key.
    ///
    /// # Errors
    /// [`Denied::Missing`] without a key, [`Denied::Unknown`] for a key that is not configured.
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

    /// Returns the last matching key. Every key is compared, also after a match, and each comparison takes the same
    /// time. So the response time reveals nothing about the configured keys.
    fn find(&self, mut matches: impl FnMut(&KeyConfig) -> bool) -> Option<Arc<KeyConfig>> {
        let mut found = None;
        for key in self.keys.iter() {
            if matches(key) {
                found = Some(key);
            }
        }
        found.cloned()
    }
}

impl Caller {
    /// Counts a request against the key's rate limit, over the last minute. Requests are counted by the key's name, so
    /// that a reload of the configuration does not reset the limit. If the store fails, the request is admitted
    /// (invariant 4).
    ///
    /// # Errors
    /// [`Denied::TooMany`] if the limit is reached. A refused request is not counted.
    pub async fn admit(&self, counters: &dyn Counters, now: Instant) -> Result<(), Denied> {
        let Some((key, limit)) = self.limit() else {
            return Ok(());
        };
        let counted = counters.count_use(key, limit, now).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot count the requests of the access key `{key}`");
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
    fn a_key_is_found_in_each_header() {
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
        // Muninn's own header takes precedence over the others.
        assert_eq!(
            name_of(&access, &[("x-muninn-key", key('c')), ("x-api-key", key('a'))]),
            Err(Denied::Unknown)
        );
    }

    #[test]
    fn without_keys_every_caller_is_anonymous() {
        let access = Access::new(&[]);
        let caller = access.authenticate(&headers(&[("x-muninn-key", key('a'))])).unwrap();
        assert_eq!(caller.name(), "");
        assert!(!caller.is_restricted());
    }

    #[test]
    fn every_key_is_compared_also_after_a_match() {
        let keys: Vec<_> = "abcd"
            .chars()
            .map(|digit| config(&digit.to_string(), &key(digit), None))
            .collect();
        let access = Access::new(&keys);
        for matching in ["a", "d", "none"] {
            let mut compared = Vec::new();
            access.find(|key| {
                compared.push(key.name.clone());
                key.name == matching
            });
            assert_eq!(compared, ["a", "b", "c", "d"], "{matching}");
        }
    }

    #[test]
    fn a_reload_does_not_reset_the_rate_limit() {
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
