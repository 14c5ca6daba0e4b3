//! The output of a call: text in pages, and a JSON value.

use std::ops::Range;

use muninn_base::RelPath;
use muninn_repo_tools::Cuts;
use muninn_text::neutral::{Ground, neutralize};
use muninn_text::redact;
use serde_json::value::RawValue;

/// Maximum size of the lines of a result, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 18;
/// Maximum size of the notes below the lines, in bytes.
const MAX_NOTES_BYTES: usize = 1 << 10;

/// The output of a call.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// The result as text, or the error. Redacted by the registry; [`Output::page`] splits it into pages.
    pub text: String,
    /// The answer as JSON, with the keys that `--json` prints. Not redacted. `None` for a failure.
    pub structured: Option<Box<RawValue>>,
    /// A summary of the result, not redacted.
    pub summary: String,
    /// Whether the call failed.
    pub failed: bool,
    /// Whether the text is neutralised: lines of files are, each as the text of its file, before numbers and paths are put
    /// in front of them.
    pub(crate) is_neutral: bool,
    /// The lines of files that the text shows: path, first and last line.
    pub shown: Vec<(RelPath, u32, u32)>,
}

impl Output {
    /// Creates an output with a text and no summary.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates the output of a failed call.
    pub fn failed(reason: impl Into<String>) -> Self {
        let summary = reason.into();
        Self { text: redact(&summary).into_owned(), summary, failed: true, ..Self::default() }
    }

    /// Creates a list with one line for each result. `nothing` is the text of an empty list. The text ends with the
    /// limits that shortened the list.
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
            text.push_str(&format!("[cut by: {}; ask for less to see all of it]\n", cuts.describe()));
        }
        text.truncate(text.trim_end_matches('\n').len());
        Self { text, summary, ..Self::default() }
    }

    /// Adds the lines of files that the text shows. They come from [`neutral_lines`], and what is in front of them from
    /// [`neutral_head`].
    pub(super) fn with_shown(self, shown: impl IntoIterator<Item = (RelPath, u32, u32)>) -> Self {
        let shown: Vec<_> = shown.into_iter().collect();
        Self { is_neutral: !shown.is_empty(), shown, ..self }
    }

    /// Truncates the text to the size limit and redacts it.
    pub(super) fn limited_and_redacted(self) -> Self {
        let end = self.text.floor_char_boundary(MAX_TEXT_BYTES + MAX_NOTES_BYTES);
        Self { text: redact(&self.text[..end]).into_owned(), ..self }
    }

    /// Returns one page of the text without markers of models and clients. `ground` is the kind of a text that shows no lines
    /// of files.
    pub fn neutral_page(&self, number: usize, bytes: usize, ground: Ground) -> String {
        let page = self.page(number, bytes);
        if self.is_neutral { page } else { neutralize(&page, ground).into_owned() }
    }

    /// Returns one page of the text, counted from 1, split between lines. If there are several pages, it ends with a
    /// hint how to get the next.
    pub fn page(&self, number: usize, bytes: usize) -> String {
        let pages = pages(&self.text, bytes.max(200));
        let Some(page) = pages.get(number.saturating_sub(1)) else {
            return format!("[there is no page {number}: the result has {}]", pages.len());
        };
        let mut shown = self.text[page.clone()].to_owned();
        if pages.len() > 1 {
            let next = if number < pages.len() {
                format!("; the same call with \"page\": {} shows more", number + 1)
            } else {
                String::new()
            };
            shown.push_str(&format!("\n[page {number} of {}{next}]", pages.len()));
        }
        shown
    }
}

/// The lines of a file as a model may read them: redacted, and neutralised as the text of the file. A number in front of a
/// line would hide that it begins with the label of a turn.
pub(super) fn neutral_lines<'l>(path: &RelPath, lines: impl IntoIterator<Item = &'l str>) -> Vec<String> {
    let text = lines.into_iter().collect::<Vec<_>>().join("\n");
    let redacted = redact(&text);
    let neutral = neutralize(&redacted, Ground::of_file(path.as_str()));
    neutral.split('\n').map(str::to_owned).collect()
}

/// One line of a file, see [`neutral_lines`].
pub(super) fn neutral_line(path: &RelPath, line: &str) -> String {
    neutral_lines(path, [line]).join(" ")
}

/// The path and the numbers in front of a line, neutralised: a path is text of the repository, too.
pub(super) fn neutral_head(head: &str) -> String {
    neutralize(head, Ground::Code).into_owned()
}

/// Returns the ranges of a text's pages. A line longer than a page is split.
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
    fn pages_cover_the_text_without_a_gap() {
        let text: String = (0..300).map(|line| format!("line {line} ünï\n")).collect();
        for bytes in [200, 333, 1_000, 100_000] {
            let pages = pages(&text, bytes);
            assert_eq!(pages.iter().map(|page| &text[page.clone()]).collect::<String>(), text);
            assert!(pages.iter().all(|page| page.len() <= bytes + 3), "{pages:?}");
        }
        let output = Output::from_text(text);
        assert!(output.page(1, 300).ends_with("the same call with \"page\": 2 shows more]"));
        assert!(output.page(99, 300).contains("no page 99"));
        assert_eq!(Output::from_text("").page(1, 300), "");
        let long = Output::from_text("é".repeat(1_000));
        assert!(long.page(2, 300).starts_with('é'));
    }
}
