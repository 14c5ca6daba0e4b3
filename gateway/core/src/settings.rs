//! The configuration in force.

use std::sync::Arc;

use muninn_backend::Router;
use muninn_backend::access::Access;
use muninn_config::Config;
use muninn_ledger::Counters;

/// The user's configuration with the router and the access keys built from it. A reload replaces it as a whole: a request
/// takes it once, at its start, and sees one configuration to its end.
pub struct Settings {
    /// The configuration in force.
    pub config: Config,
    /// Chooses the backend of a request.
    pub router: Router,
    /// Checks access keys.
    pub access: Access,
    own_port: u16,
}

impl Settings {
    /// Builds the settings of a process that starts. `own_port` is the port it listens on, `counters` counts the failures
    /// of backends.
    pub fn new(config: Config, own_port: u16, counters: Arc<dyn Counters>) -> Settings {
        Settings {
            router: Router::with_counters(&config, own_port, counters),
            access: Access::new(&config),
            config,
            own_port,
        }
    }

    /// The port of the user's gateway: of this process, or the configured one.
    pub fn port(&self) -> u16 {
        match self.own_port {
            0 => self.config.listen.port(),
            own => own,
        }
    }

    /// Builds the settings that replace `previous` after a reload. Requests with keys that the reload revokes end.
    pub fn reloaded(config: Config, previous: &Settings) -> Settings {
        Settings {
            router: previous.router.renewed(&config, previous.own_port),
            access: previous.access.renewed(&config),
            config,
            own_port: previous.own_port,
        }
    }
}

/// Keeps the settings that are fixed at the start of the process: its socket is bound, its ledger open, its workers run.
/// Returns one line for each that the new configuration changes.
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
    keep(&mut kept, "limits.connect_timeout_ms", &mut limits.connect_timeout, &before.connect_timeout);
    keep(&mut kept, "limits.header_timeout_ms", &mut limits.header_timeout, &before.header_timeout);
    keep(&mut kept, "limits.drain_timeout_ms", &mut limits.drain_timeout, &before.drain_timeout);
    keep(&mut kept, "limits.ledger_days", &mut limits.ledger_days, &before.ledger_days);
    keep(&mut kept, "personal.path", &mut config.personal.path, &previous.personal.path);
    // It can be switched off at once. A process that starts without it opens no directory, so that it is switched on by a restart.
    if !previous.personal.enabled {
        keep(&mut kept, "personal.enabled", &mut config.personal.enabled, &false);
    }
    keep(&mut kept, "limits.ledger_megabytes", &mut limits.ledger_megabytes, &before.ledger_megabytes);
    kept
}
