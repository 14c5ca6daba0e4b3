pub(super) const ENTITIES: &str = "entities";

pub(super) const JOURNAL: &str = "journal";

/// What can be rebuilt.
pub(super) const INDEX: &str = ".index";

/// The directories of the layout.
pub(super) const STATE: &str = "state";

pub(super) const SIGNALS: &str = "signals";

pub(super) const REMINDERS: &str = "reminders";
