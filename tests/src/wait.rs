//! Waiting by polling.

use std::time::{Duration, Instant};

/// Maximum duration of a wait in a test. Much longer than necessary, because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Calls `ask` until it returns a value.
///
/// # Panics
/// If there is none within [`PATIENCE`]; the message names `what`.
pub fn wait_until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, what, ask)
}

/// Calls `ask` until it returns a value.
///
/// # Panics
/// If there is none within `limit`; the message names `what`.
pub fn wait_within<T>(limit: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "timed out after {limit:?} waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
