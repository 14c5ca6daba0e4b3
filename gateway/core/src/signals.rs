//! Events of the owner's own sessions, in the signals of their personal memory. Only `[personal] signals = true` logs them.

use std::sync::Arc;

use muninn_backend::access::Caller;

use super::App;
use super::signal_log::SignalLog;

impl App {
    /// Where events of a caller's sessions are logged, if they are.
    pub fn signals_of(&self, caller: &Caller) -> Option<SignalLog> {
        let config = &self.settings().config.personal;
        if !config.signals {
            return None;
        }
        Some(SignalLog {
            personal: self.personal_of(caller).filter(|personal| personal.root().is_dir())?,
            keep_days: config.signals_days,
            known: Arc::clone(&self.signalled),
        })
    }
}
