//! Removing the text of issue templates.
//!
//! Issue trackers add headings, checkboxes and hints, whose words are the same in every issue and describe none. Pasted
//! code, logs and stack traces stay, because they are the best evidence.

use std::borrow::Cow;

/// Words of template headings. A heading with any other word is part of the question.
#[rustfmt::skip]
const TEMPLATE_WORDS: &[&str] = &[
    "a", "actual", "additional", "and", "any", "are", "behavior", "behaviour", "bug", "can", "checklist", "code",
    "complete", "context", "current", "debug", "describe", "description", "details", "did", "do", "environment",
    "example", "expect", "expected", "feature", "following", "for", "happen", "happened", "happens", "have", "how",
    "i", "info", "information", "is", "issue", "it", "like", "log", "logs", "minimal", "observed", "of", "or", "os",
    "other", "output", "platform", "please", "preliminary", "prerequisites", "problem", "relevant", "report",
    "reproduce", "reproducible", "reproduction", "request", "required", "result", "results", "screenshots", "see",
    "short", "should", "solution", "steps", "summary", "system", "tasks", "terms", "that", "the", "think", "this",
    "to", "use", "version", "versions", "we", "what", "which", "with", "would", "you", "your",
];

/// Removes template text. The first line stays, because it is the title.
pub(super) fn strip_template(text: &str) -> Cow<'_, str> {
    let mut filter = TemplateFilter { fenced: false, comment: false };
    let mut lines = text.split_inclusive('\n');
    let Some(title) = lines.next() else {
        return Cow::Borrowed(text);
    };
    let body: String = lines.filter(|line| filter.keeps(line)).collect();
    if title.len() + body.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(title.to_owned() + &body) }
}

/// The state at a line: inside a code block, inside a comment.
struct TemplateFilter {
    fenced: bool,
    comment: bool,
}

impl TemplateFilter {
    fn keeps(&mut self, line: &str) -> bool {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            self.fenced = !self.fenced;
            return true;
        }
        if self.fenced {
            return true;
        }
        if self.comment || line.starts_with("<!--") {
            self.comment = !line.ends_with("-->");
            return false;
        }
        !(is_checkbox(line) || is_template_heading(line))
    }
}

/// Returns whether a line is a checkbox, ticked or not.
fn is_checkbox(line: &str) -> bool {
    let item = line.strip_prefix(['-', '*', '+']).unwrap_or_default().trim_start();
    ["[ ]", "[x]", "[X]"].iter().any(|mark| item.starts_with(mark))
}

/// Returns whether a line is a heading, or all bold, and has only [`TEMPLATE_WORDS`].
fn is_template_heading(line: &str) -> bool {
    let heading = line.trim_start_matches('#');
    let bold = line.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let title = match bold {
        Some(title) => title,
        None if heading.len() < line.len() => heading,
        None => return false,
    };
    let mut words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| TEMPLATE_WORDS.binary_search(&word.to_lowercase().as_str()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        let mut sorted = TEMPLATE_WORDS.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted, TEMPLATE_WORDS);
    }

    #[test]
    fn template_text_is_removed_and_answers_stay() {
        let text = "### Describe the parser\n<!-- Thanks for\nfiling -->\n### Expected behavior\n**Steps to reproduce:**\n\
                    - [x] I have searched\n- a list\n## The lexer fails\n```\n# describe\n- [ ] in code\n```\nend";
        assert_eq!(
            strip_template(text),
            "### Describe the parser\n- a list\n## The lexer fails\n```\n# describe\n- [ ] in code\n```\nend"
        );
    }

    #[test]
    fn other_texts_are_unchanged() {
        for text in ["", "one line", "# Steps", "title\n\nIt fails.\n", "a\n**not** all bold\n#include <x.h>\n"] {
            assert!(matches!(strip_template(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
