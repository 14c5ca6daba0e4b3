//! The findings of `muninn doctor`, and their table.

use serde::Serialize;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// No problem.
    Ok,
    /// Works, but the user may want to change it.
    Note,
    /// Needs to be fixed.
    Bad,
}

/// One check and its result.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) state: State,
    about: String,
    #[serde(rename = "says")]
    message: String,
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    to_do: Option<String>,
}

impl Finding {
    pub(super) fn good(about: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { state: State::Ok, about: about.into(), message: message.into(), to_do: None }
    }

    pub(super) fn note(about: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { state: State::Note, ..Finding::good(about, message) }
    }

    /// `to_do` is one sentence.
    pub(super) fn bad(about: impl Into<String>, message: impl Into<String>, to_do: impl Into<String>) -> Finding {
        Finding { state: State::Bad, to_do: Some(to_do.into()), ..Finding::good(about, message) }
    }
}

/// The findings as aligned text, with what to do below each problem.
pub(super) fn table(findings: &[Finding]) -> String {
    let widest = findings.iter().map(|finding| finding.about.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let state = match finding.state {
            State::Ok => "ok",
            State::Note => "note",
            State::Bad => "bad",
        };
        text.push_str(&format!("{state:<4}  {:<widest$}  {}\n", finding.about, finding.message));
        if let Some(to_do) = &finding.to_do {
            text.push_str(&format!("{:<4}  {:<widest$}  -> {to_do}\n", "", ""));
        }
    }
    let bad = findings.iter().filter(|finding| finding.state == State::Bad).count();
    text.push_str(&match bad {
        0 => "\nno problems found\n".to_owned(),
        count => format!("\n{} found\n", crate::cli::output::plural(count, "problem")),
    });
    text
}
