//! Waiting by polling.

use std::time::{Duration, Instant};

/// How long any wait in a test may last. Far more than anything takes, because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks until there is an answer.
///
/// # Panics
/// When there is none within [`PATIENCE`], naming `what`.
pub fn wait_until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, what, ask)
}

/// Asks until there is an answer.
///
/// # Panics
/// When there is none within `limit`, naming `what`.
pub fn wait_within<T>(limit: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited {limit:?} in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
