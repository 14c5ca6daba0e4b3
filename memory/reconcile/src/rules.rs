/// The author of decisions by rules alone.
pub(super) const RULES: &str = "rules";
