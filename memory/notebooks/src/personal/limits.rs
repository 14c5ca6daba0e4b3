/// The longest timeout of a run, in seconds.
pub const MOST_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;
