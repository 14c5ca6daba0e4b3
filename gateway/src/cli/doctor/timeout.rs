use std::time::Duration;

/// The longest time for each check.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(3);
