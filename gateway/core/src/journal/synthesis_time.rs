use std::time::Duration;

/// The longest time for a model's answer.
pub const SYNTHESIS_TIME: Duration = Duration::from_mins(3);
