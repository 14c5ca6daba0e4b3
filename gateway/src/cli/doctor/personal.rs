//! Checks of personal memory: whether its versions are kept, where they go, and what waits for the user.

use std::path::Path;
use std::sync::Arc;

use muninn_base::with_causes;
use muninn_config::{Config, paths};
use muninn_notebooks::personal::{FiringError, Firings, Personal};
use muninn_personal::reminders::Reminders;
use muninn_personal::{problem, unconfirmed_remote};

use super::super::Common;
use super::finding::Finding;

const ABOUT: &str = "personal memory";

/// The findings; none without personal memory. `state_dir`: `None` if it is not used.
pub(super) fn findings(config: &Config, state_dir: Option<&Path>) -> Vec<Finding> {
    let root = paths::personal_dir(config.personal.path.as_deref()).ok();
    let Some(root) = root.filter(|root| config.personal.enabled && root.is_dir()) else {
        return Vec::new();
    };
    let personal = Arc::new(Personal::new(&root, Common::clock()));
    let mut findings = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Some(error) = runtime.ok().and_then(|runtime| runtime.block_on(problem(&personal))) {
        let to_do = "follow the advice; until then no change is committed";
        findings.push(Finding::bad(ABOUT, with_causes(&error), to_do));
    }
    if let Err(error) = personal.settings() {
        findings.push(Finding::bad(ABOUT, with_causes(&error), "correct the file"));
    }
    if let Some(unconfirmed) = unconfirmed_remote(&personal, config.personal.git_remote.as_deref()) {
        findings.push(Finding::note(ABOUT, unconfirmed.to_string()));
    }
    let waiting = state_dir.map(|state_dir| waiting(&personal, state_dir));
    match waiting {
        Some(Ok(0)) | None => {}
        Some(Ok(count)) => {
            let reminders = crate::cli::output::plural(count, "reminder");
            findings.push(Finding::note(
                ABOUT,
                format!("{reminders} came from elsewhere or changed: `muninn remind accept` shows them and asks"),
            ));
        }
        Some(Err(error)) => findings.push(Finding::bad(ABOUT, with_causes(&error), "see the state directory")),
    }
    if findings.is_empty() {
        findings.push(Finding::good(ABOUT, root.display().to_string()));
    }
    findings
}

/// The number of reminders that wait for a yes. The database is not made for it.
fn waiting(personal: &Arc<Personal>, state_dir: &Path) -> Result<usize, FiringError> {
    if Firings::exist(state_dir) {
        Ok(Reminders::open(personal, state_dir, Common::clock())?.waiting()?.len())
    } else {
        Ok(personal.reminders()?.reminders.len())
    }
}
