use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a reminder recurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReminderKind {
    /// At the times of a cron expression.
    Cron,
    /// At one time.
    Once,
}
