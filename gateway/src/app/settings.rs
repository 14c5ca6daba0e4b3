//! The configuration in force, settled for use.

use std::sync::Arc;

use crate::access::Access;
use crate::backend::Router;
use crate::config::Config;
use crate::store::Counters;

/// What the user's configuration says, ready for use. Replaced as a whole when the configuration is read again, so a
/// request takes it once, at its start, and sees one configuration to its end.
pub struct Settings {
    /// The configuration in force.
    pub config: Config,
    /// Which backend answers what.
    pub router: Router,
    /// Who may ask.
    pub access: Access,
    own_port: u16,
}

impl Settings {
    /// Settles a configuration for a process that starts. `own_port` is the one that it listens on itself,
    /// `counters` what counts the failures of backends.
    #[must_use]
    pub fn new(config: Config, own_port: u16, counters: Arc<dyn Counters>) -> Settings {
        Settings {
            router: Router::counted(&config, own_port, counters),
            access: Access::new(&config.keys),
            config,
            own_port,
        }
    }

    /// Settles a configuration that takes the place of another one.
    #[must_use]
    pub fn reloaded(config: Config, previous: &Settings) -> Settings {
        Settings {
            router: previous.router.renewed(&config, previous.own_port),
            access: Access::new(&config.keys),
            config,
            own_port: previous.own_port,
        }
    }
}

/// Takes over what was settled when the process started: the socket is bound, the ledger open, workers and their
/// connections are there. Returns what the new configuration would have had otherwise.
pub(super) fn keep_what_is_fixed(config: &mut Config, previous: &Config) -> Vec<String> {
    fn keep<T: PartialEq + Clone + std::fmt::Debug>(kept: &mut Vec<String>, key: &str, new: &mut T, old: &T) {
        if new != old {
            kept.push(format!("{key} stays {old:?} until a restart; the file says {new:?}"));
            new.clone_from(old);
        }
    }
    let mut kept = Vec::new();
    keep(&mut kept, "listen", &mut config.listen, &previous.listen);
    let (limits, before) = (&mut config.limits, &previous.limits);
    keep(
        &mut kept,
        "limits.connect_timeout_ms",
        &mut limits.connect_timeout,
        &before.connect_timeout,
    );
    keep(
        &mut kept,
        "limits.header_timeout_ms",
        &mut limits.header_timeout,
        &before.header_timeout,
    );
    keep(
        &mut kept,
        "limits.drain_timeout_ms",
        &mut limits.drain_timeout,
        &before.drain_timeout,
    );
    keep(
        &mut kept,
        "limits.ledger_days",
        &mut limits.ledger_days,
        &before.ledger_days,
    );
    keep(
        &mut kept,
        "limits.ledger_megabytes",
        &mut limits.ledger_megabytes,
        &before.ledger_megabytes,
    );
    kept
}
