//! The user's editor.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::Command;

use super::{CliError, Exit};

/// Opens a file in the user's editor, and waits until it ends. `otherwise` tells what to do without an editor.
pub(super) fn open(file: &Path, otherwise: &str) -> Result<(), CliError> {
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
    let named = named.filter(|editor| !editor.trim().is_empty() && std::io::stdin().is_terminal());
    let Some(editor) = named else {
        let failure = CliError::new(Exit::Usage, format!("there is no editor for {}", file.display()));
        return Err(failure.hint(format!("set $EDITOR and run it in a terminal, or {otherwise}")));
    };
    // `code --wait` is an editor with an argument.
    let mut words = editor.split_whitespace();
    let status = Command::new(words.next().unwrap_or_default()).args(words).arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CliError::new(Exit::Failure, format!("{editor} ended with {status}"))),
        Err(error) => Err(CliError::new(Exit::Failure, format!("cannot run {editor}: {error}"))),
    }
}
