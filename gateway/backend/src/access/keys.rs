use std::time::Duration;

use muninn_config::KeyConfig;
use muninn_wire::error::ErrorKind;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// A key of the configuration in force.
#[derive(Debug)]
pub(crate) struct ActiveKey {
    pub(crate) config: KeyConfig,
    /// Whether `[personal] key` names it.
    pub(crate) owns_personal: bool,
    /// Cancelled when a reload removes, replaces or narrows the key.
    pub(crate) revoked: CancellationToken,
}

impl ActiveKey {
    /// Whether a holder of this key may do all the same with `other`.
    pub(crate) fn is_covered_by(&self, other: &KeyConfig) -> bool {
        fn covers<T: PartialEq>(new: Option<&[T]>, old: Option<&[T]>) -> bool {
            new.is_none_or(|new| old.is_some_and(|old| old.iter().all(|item| new.contains(item))))
        }
        let own = &self.config;
        own.name == other.name
            && own.hash == other.hash
            && covers(other.models.as_deref(), own.models.as_deref())
            && covers(other.backends.as_deref(), own.backends.as_deref())
            && covers(other.roots.as_deref(), own.roots.as_deref())
            && (other.write || !own.write)
    }
}

/// The reason why a request is refused. No variant holds the presented key.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum Denied {
    /// The request has no key.
    #[error(
        "this gateway needs an access key: send it as `x-muninn-key`, as `Authorization: Bearer muninn-...` or as `x-api-key: muninn-...`"
    )]
    Missing,
    /// The key is not configured.
    #[error("the access key is unknown to this gateway")]
    Unknown,
    /// A reload revoked the key while the request was answered.
    #[error("the access was revoked: this gateway's configuration no longer permits the request")]
    Revoked,
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
    pub fn kind(&self) -> ErrorKind {
        match self {
            Denied::Missing | Denied::Unknown | Denied::Revoked => ErrorKind::Authentication,
            Denied::TooMany { .. } => ErrorKind::RateLimit,
        }
    }

    /// The value of `retry-after` in whole seconds, if waiting helps.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Denied::TooMany { wait, .. } => Some(seconds(*wait)),
            Denied::Missing | Denied::Unknown | Denied::Revoked => None,
        }
    }
}

/// Rounds a time up to whole seconds, at least one, because a client that retries too early is refused again.
pub(crate) fn seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}
