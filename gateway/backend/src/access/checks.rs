use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;
use http::header::ORIGIN;
use muninn_config::secrets::KeyHash;
use muninn_config::{Config, KeyConfig};
use muninn_ledger::Counters;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::headers;
use super::keys::{ActiveKey, Denied};
use super::peer::Peer;

/// The access keys of one configuration.
#[derive(Debug, Clone)]
pub struct Access {
    keys: Arc<[Arc<ActiveKey>]>,
    /// Cancelled when the gateway, which serves everybody on this machine without keys, gets its first key.
    closed: CancellationToken,
}

impl Access {
    /// Creates the access rules of a configuration.
    pub fn new(config: &Config) -> Access {
        Access::of(&config.keys, config.personal.key.as_deref(), None)
    }

    /// Creates the access rules of a configuration that replaces this one's. Requests under way end if the new rules do not
    /// permit them; those of a key that stays, or permits more than before, go on.
    pub fn renewed(&self, config: &Config) -> Access {
        let new = Access::of(&config.keys, config.personal.key.as_deref(), Some(self));
        self.revoke_without(&new);
        new
    }

    fn of(keys: &[KeyConfig], personal: Option<&str>, previous: Option<&Access>) -> Access {
        let active = |config: &KeyConfig| {
            let mut earlier = previous.iter().flat_map(|previous| previous.keys.iter());
            let earlier = earlier.find(|key| key.is_covered_by(config));
            Arc::new(ActiveKey {
                owns_personal: personal == Some(&config.name),
                config: config.clone(),
                revoked: earlier.map(|key| key.revoked.clone()).unwrap_or_default(),
            })
        };
        let open = previous.filter(|previous| previous.is_open() && keys.is_empty());
        Access {
            keys: keys.iter().map(active).collect(),
            closed: open.map(|previous| previous.closed.clone()).unwrap_or_default(),
        }
    }

    fn revoke_without(&self, new: &Access) {
        if !new.is_open() {
            self.closed.cancel();
        }
        let is_kept = |old: &&Arc<ActiveKey>| new.keys.iter().any(|key| old.is_covered_by(&key.config));
        for old in self.keys.iter().filter(|old| !is_kept(old)) {
            old.revoked.cancel();
        }
    }

    /// Whether no keys are configured, so that every client is served.
    pub fn is_open(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the caller of a request with these headers from this peer. If no keys are configured, the peer alone decides,
    /// even with a key.
    ///
    /// # Errors
    /// [`Denied::Missing`] without a key, [`Denied::Unknown`] for a key that is not configured.
    pub fn authenticate(&self, headers: &HeaderMap, peer: &Arc<Peer>) -> Result<Caller, Denied> {
        if self.is_open() {
            // A browser sends the requests of a page with the user's process. Only pages of this machine come so far.
            let is_page = headers.contains_key(ORIGIN);
            let peer = Some(peer).filter(|_| !is_page).cloned();
            return Ok(Caller::peer(peer, self.closed.clone()));
        }
        let presented = headers::presented(headers).ok_or(Denied::Missing)?;
        let hash = KeyHash::of_key(presented).ok_or(Denied::Unknown)?;
        self.find(|key| key.hash == hash).map(Caller::holding).ok_or(Denied::Unknown)
    }

    /// Returns the last matching key. Every key is compared, also after a match, and each comparison takes the same
    /// time. So the response time reveals nothing about the configured keys.
    fn find(&self, mut matches: impl FnMut(&KeyConfig) -> bool) -> Option<Arc<ActiveKey>> {
        let mut found = None;
        for key in self.keys.iter() {
            if matches(&key.config) {
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
        counted.map_err(|wait| Denied::TooMany { key: key.to_owned(), limit, wait })
    }

    /// Takes the count of a request back that was refused.
    pub fn take_back(&self, counters: &dyn Counters) {
        if let Some((key, _)) = self.limit() {
            counters.note_refused(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use muninn_wire::error::ErrorKind;

    use super::*;
    use crate::socket_owner::SocketOwner;
    use muninn_ledger::LocalCounters;

    fn config(name: &str, key: &str, limit: Option<u32>) -> KeyConfig {
        KeyConfig {
            name: name.to_owned(),
            hash: KeyHash::of_key(key).unwrap(),
            models: None,
            backends: None,
            roots: None,
            requests_per_minute: limit,
            write: true,
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

    fn authenticate(access: &Access, headers: &HeaderMap) -> Result<Caller, Denied> {
        access.authenticate(headers, &Arc::new(Peer::owned_by(SocketOwner::Own)))
    }

    fn name_of(access: &Access, pairs: &[(&'static str, String)]) -> Result<String, Denied> {
        let caller = authenticate(access, &headers(pairs))?;
        Ok(caller.name().to_owned())
    }

    #[test]
    fn a_key_is_found_in_each_header() {
        let access = Access::of(&[config("ana", &key('a'), None), config("ben", &key('b'), None)], None, None);
        for place in [
            ("x-muninn-key", key('b')),
            ("authorization", format!("Bearer {}", key('b'))),
            ("authorization", format!("bearer  {}", key('b'))),
            ("x-api-key", key('b')),
        ] {
            assert_eq!(name_of(&access, &[place]), Ok("ben".to_owned()));
        }
        let vendors = ("authorization", "Bearer sk-ant-0000".to_owned());
        assert_eq!(name_of(&access, &[vendors.clone(), ("x-muninn-key", key('a'))]), Ok("ana".to_owned()));
        assert_eq!(name_of(&access, &[vendors]), Err(Denied::Missing));
        assert_eq!(name_of(&access, &[]), Err(Denied::Missing));
        for wrong in [key('c'), key('a').to_uppercase(), key('a')[..70].to_owned(), String::new()] {
            assert_eq!(name_of(&access, &[("x-muninn-key", wrong)]), Err(Denied::Unknown));
        }
        // Muninn's own header takes precedence over the others.
        assert_eq!(name_of(&access, &[("x-muninn-key", key('c')), ("x-api-key", key('a'))]), Err(Denied::Unknown));
    }

    #[test]
    fn without_keys_every_caller_is_anonymous() {
        let access = Access::of(&[], None, None);
        let caller = authenticate(&access, &headers(&[("x-muninn-key", key('a'))])).unwrap();
        assert_eq!(caller.name(), "");
        assert!(caller.may_use_model("m") && caller.may_use_backend("b"));
    }

    /// Changes of a configuration, and whether a stream that began before goes on.
    #[test]
    fn reload_revokes_what_it_no_longer_permits() {
        let list = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect::<Vec<_>>());
        let ana = || config("ana", &key('a'), None);
        let of = |models: &[&str], roots: Option<&str>| KeyConfig {
            models: list(models),
            roots: roots.map(|root| vec![root.into()]),
            ..ana()
        };
        for (change, old, new, goes_on) in [
            ("nothing", ana(), vec![ana()], true),
            ("the rate", ana(), vec![KeyConfig { requests_per_minute: Some(1), ..ana() }], true),
            ("another key is added", ana(), vec![config("ben", &key('b'), None), ana()], true),
            ("a restriction is removed", of(&["a"], Some("/srv")), vec![ana()], true),
            ("a model is added", of(&["a"], None), vec![of(&["b", "a"], None)], true),
            ("removed, others stay", ana(), vec![config("ben", &key('b'), None)], false),
            ("removed, none stays", ana(), vec![], false),
            ("another key of the same name", ana(), vec![config("ana", &key('b'), None)], false),
            ("the same key under another name", ana(), vec![config("eve", &key('a'), None)], false),
            ("restricted to models", ana(), vec![of(&["a"], None)], false),
            ("a model is removed", of(&["a", "b"], None), vec![of(&["a"], None)], false),
            ("another model", of(&["a"], None), vec![of(&["b"], None)], false),
            ("restricted to roots", of(&["a"], None), vec![of(&["a"], Some("/srv"))], false),
            ("narrower roots", of(&["a"], Some("/srv")), vec![of(&["a"], Some("/srv/x"))], false),
            ("it may no longer write", ana(), vec![KeyConfig { write: false, ..ana() }], false),
            ("restricted to backends", ana(), vec![KeyConfig { backends: list(&["b"]), ..ana() }], false),
        ] {
            let before = Access::of(std::slice::from_ref(&old), None, None);
            let caller = authenticate(&before, &headers(&[("x-muninn-key", key('a'))])).unwrap();
            let revoked = caller.revocation().unwrap();
            let after = Access::of(&new, None, Some(&before));
            before.revoke_without(&after);
            assert_eq!(!revoked.is_cancelled(), goes_on, "{change}");
            // A second reload still finds the streams that began before the first one.
            after.revoke_without(&Access::of(&[config("eve", &key('e'), None)], None, Some(&after)));
            assert!(revoked.is_cancelled(), "{change}, then removed");
        }
        let open = Access::of(&[], None, None);
        let caller = authenticate(&open, &HeaderMap::new()).unwrap();
        let still = Access::of(&[], None, Some(&open));
        open.revoke_without(&still);
        assert!(!caller.revocation().unwrap().is_cancelled());
        still.revoke_without(&Access::of(&[ana()], None, Some(&still)));
        assert!(caller.revocation().unwrap().is_cancelled(), "the first key closes the open gateway");
    }

    #[test]
    fn every_key_is_compared_also_after_a_match() {
        let keys: Vec<_> = "abcd".chars().map(|digit| config(&digit.to_string(), &key(digit), None)).collect();
        let access = Access::of(&keys, None, None);
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
        let access = Access::of(&[config("ana", &key('a'), Some(2))], None, None);
        let admitted = |access: &Access, key: &str| {
            let caller = authenticate(access, &headers(&[("x-muninn-key", key.to_owned())])).unwrap();
            caller.admit(&counters, start).now_or_never().unwrap()
        };
        assert!(admitted(&access, &key('a')).is_ok());
        assert!(admitted(&access, &key('a')).is_ok());
        let again = Access::of(&[config("ana", &key('b'), Some(2)), config("ben", &key('c'), Some(2))], None, None);
        let denied = admitted(&again, &key('b')).unwrap_err();
        assert_eq!(denied.retry_after(), Some(60));
        assert_eq!(denied.kind(), ErrorKind::RateLimit);
        assert!(admitted(&again, &key('c')).is_ok());
    }
}
