//! Folds as text.

use std::process::ExitCode;

use muninn_core::Workspace;
use muninn_reconcile::{Fold, FoldedRecord};
use muninn_team::records::RULES;
use serde_json::json;

use crate::cli::CliError;
use crate::cli::output::{self, plural, sanitize_line};

/// Maximum number of folds of a run that are shown. JSON has all of them.
const MAX_SHOWN: usize = 100;

/// A fold with both texts.
pub(super) fn text(fold: &Fold) -> String {
    let side = |name: &str, side: &FoldedRecord| {
        let date: String = side.date.chars().take(10).collect();
        format!("    {}", sanitize_line(&format!("{name} {} ({date}): {}", side.id, side.text)))
    };
    let by = if fold.by == RULES { String::new() } else { format!(" (by {})", fold.by) };
    let heading = sanitize_line(&format!("fold {}{by}", fold.id));
    format!("{heading}\n{}\n{}", side("older", &fold.older), side("newer", &fold.newer))
}

/// Notes the folds of a run.
pub(super) fn note(folds: &[Fold]) {
    folds.iter().take(MAX_SHOWN).for_each(|fold| output::note(&text(fold)));
    if let Some(more) = folds.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        output::note(&format!("... {}; `--json` lists all", plural(more, "more fold")));
    }
    if !folds.is_empty() {
        output::note("the newer record of a fold is recalled; `muninn resolve ID --apart` undoes a fold");
    }
}

/// Shows the folds of earlier versions.
pub(super) fn review(workspace: &Workspace, as_json: bool) -> Result<ExitCode, CliError> {
    let folds = workspace.earlier_folds()?;
    if as_json {
        output::json(&json!({"folds": folds}));
        return Ok(ExitCode::SUCCESS);
    }
    for fold in &folds {
        let kind = if fold.same_statement { "the same statement" } else { "different texts" };
        output::line(&format!(
            "{}\n    {kind}; undo: muninn resolve {} --apart\n",
            text(fold),
            sanitize_line(&fold.id)
        ));
    }
    let different = folds.iter().filter(|fold| !fold.same_statement).count();
    output::note(&format!("{} of earlier versions, {different} of different texts", plural(folds.len(), "fold")));
    Ok(ExitCode::SUCCESS)
}
