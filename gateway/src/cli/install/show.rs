//! Showing a change, and asking for consent.

use std::io::IsTerminal as _;

use muninn_clients::{Change, ClientCommand, unified};
use muninn_text::redact::redact;

use crate::cli::{CliError, Exit, is_confirmed, output};

/// Prints the difference that a change makes. Secrets in the lines around it are redacted.
pub(super) fn change(change: &Change, command: Option<&ClientCommand>) {
    let path = output::sanitize_field(&change.file.path.display().to_string());
    let (before, after) = (change.file.text.as_deref(), change.text.as_deref());
    let name = |text: Option<&str>| if text.is_some() { path.as_str() } else { "/dev/null" };
    let diff = unified(before.unwrap_or_default(), after.unwrap_or_default());
    output::line(&format!("--- {}\n+++ {}", name(before), name(after)));
    output::print(&redact(&output::sanitize(&diff)));
    if change.file.is_link() {
        let target = output::sanitize_field(&change.file.target.display().to_string());
        output::line(&format!("{path} is a symbolic link to {target}; {target} is edited"));
    }
    if let Some(command) = command {
        let words = command.arguments.join(" ");
        output::line(&format!("by its own command: {} {words}", command.program));
    }
    output::line("");
}

/// Asks whether to write what was shown.
pub(super) fn ask() -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        return Err(CliError::new(Exit::Usage, "nothing was changed: there is no terminal to ask at")
            .hint("add --yes to write these changes, or --dry-run to only show them"));
    }
    Ok(is_confirmed("Write these changes?")?)
}
