/// Settings that take precedence over those of the repository and of the user.
pub(crate) const SETTINGS: [&str; 3] = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat"];
