//! What a call came to, as text in pages and as a value.

use std::ops::Range;

use muninn_memory::redact;
use muninn_repo_tools::{Cuts, RelPath};
use serde_json::value::RawValue;

/// Longer results lose their last lines, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 18;
/// Room for what stands below the lines, in bytes.
const MAX_NOTES_BYTES: usize = 1 << 10;

/// What a call came to.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// The result in words, or why there is none. Redacted by the registry; [`Output::page`] cuts it into pages.
    pub text: String,
    /// The answer as JSON, with the keys that `--json` prints. Not redacted. `None` for a failure.
    pub structured: Option<Box<RawValue>>,
    /// The result in a few words, not redacted.
    pub summary: String,
    /// Whether there is no result.
    pub failed: bool,
    /// The lines of files that the text shows: path, first and last line.
    pub shown: Vec<(RelPath, u32, u32)>,
}

impl Output {
    /// A text without a summary.
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A failure, with its reason.
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        let summary = reason.into();
        Self {
            text: redact(&summary).into_owned(),
            summary,
            failed: true,
            ..Self::default()
        }
    }

    /// A list, a line for each result. `nothing` is the text of an empty one. The text ends with the bounds that left
    /// something out.
    #[must_use]
    pub fn listed(lines: impl IntoIterator<Item = String>, cuts: &Cuts, nothing: &str, summary: String) -> Self {
        let (mut text, mut more) = (String::new(), 0usize);
        for line in lines {
            if text.len() + line.len() < MAX_TEXT_BYTES {
                text.push_str(&line);
                text.push('\n');
            } else {
                more += 1;
            }
        }
        if text.is_empty() {
            text.push_str(nothing);
            text.push('\n');
        }
        if more > 0 {
            text.push_str(&format!("[{more} more lines were left out]\n"));
        }
        if !cuts.is_empty() {
            text.push_str(&format!(
                "[cut by: {}; ask for less to see all of it]\n",
                cuts.describe()
            ));
        }
        text.truncate(text.trim_end_matches('\n').len());
        Self {
            text,
            summary,
            ..Self::default()
        }
    }

    /// The same, with the lines of files that it shows.
    pub(super) fn showing(self, shown: impl IntoIterator<Item = (RelPath, u32, u32)>) -> Self {
        Self {
            shown: shown.into_iter().collect(),
            ..self
        }
    }

    /// The same within the bounds of every tool, and without secrets.
    pub(super) fn finished(self) -> Self {
        let end = self.text.floor_char_boundary(MAX_TEXT_BYTES + MAX_NOTES_BYTES);
        Self {
            text: redact(&self.text[..end]).into_owned(),
            ..self
        }
    }

    /// One page of the text, counted from 1, cut between lines. A page of several ends with how to see the next.
    #[must_use]
    pub fn page(&self, number: usize, bytes: usize) -> String {
        let pages = pages(&self.text, bytes.max(200));
        let Some(page) = pages.get(number.saturating_sub(1)) else {
            return format!("[there is no page {number}: the result has {}]", pages.len());
        };
        let mut shown = self.text[page.clone()].to_owned();
        if pages.len() > 1 {
            let next = match number < pages.len() {
                true => format!("; the same call with \"page\": {} shows more", number + 1),
                false => String::new(),
            };
            shown.push_str(&format!("\n[page {number} of {}{next}]", pages.len()));
        }
        shown
    }
}

/// The ranges of a text's pages. A line that is longer than a page is cut.
fn pages(text: &str, bytes: usize) -> Vec<Range<usize>> {
    let mut pages = Vec::new();
    let mut start = 0;
    while text.len() - start > bytes {
        let cut = text.floor_char_boundary(start + bytes);
        let end = match text[start..cut].rfind('\n') {
            Some(line) if line > 0 => start + line + 1,
            _ => cut.max(start + 1),
        };
        let end = text.ceil_char_boundary(end);
        pages.push(start..end);
        start = end;
    }
    if start < text.len() || pages.is_empty() {
        pages.push(start..text.len());
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_without_a_gap() {
        let text: String = (0..300).map(|line| format!("line {line} ünï\n")).collect();
        for bytes in [200, 333, 1_000, 100_000] {
            let pages = pages(&text, bytes);
            assert_eq!(pages.iter().map(|page| &text[page.clone()]).collect::<String>(), text);
            assert!(pages.iter().all(|page| page.len() <= bytes + 3), "{pages:?}");
        }
        let output = Output::of(text);
        assert!(
            output
                .page(1, 300)
                .ends_with("the same call with \"page\": 2 shows more]")
        );
        assert!(output.page(99, 300).contains("no page 99"));
        assert_eq!(Output::of("").page(1, 300), "");
        let long = Output::of("é".repeat(1_000));
        assert!(long.page(2, 300).starts_with('é'));
    }
}
