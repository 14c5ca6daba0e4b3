//! What a form asks, and not the person who fills it in.
//!
//! Issue trackers put headings, boxes to tick and hints around what people write. The words are the same in every issue,
//! and say nothing of this one. What was pasted stays, whatever it is: code, logs and stack traces are the best evidence
//! that there is.

use std::borrow::Cow;

/// Words that headings of forms consist of. A heading with any other word says something.
#[rustfmt::skip]
const FORM: &[&str] = &[
    "a", "actual", "additional", "and", "any", "are", "behavior", "behaviour", "bug", "can", "checklist", "code",
    "complete", "context", "current", "debug", "describe", "description", "details", "did", "do", "environment",
    "example", "expect", "expected", "feature", "following", "for", "happen", "happened", "happens", "have", "how",
    "i", "info", "information", "is", "issue", "it", "like", "log", "logs", "minimal", "observed", "of", "or", "os",
    "other", "output", "platform", "please", "preliminary", "prerequisites", "problem", "relevant", "report",
    "reproduce", "reproducible", "reproduction", "request", "required", "result", "results", "screenshots", "see",
    "short", "should", "solution", "steps", "summary", "system", "tasks", "terms", "that", "the", "think", "this",
    "to", "use", "version", "versions", "we", "what", "which", "with", "would", "you", "your",
];

/// A text without what a form asks. The first line stays: it is the title.
pub(super) fn without_form(text: &str) -> Cow<'_, str> {
    let mut kept = Kept {
        fenced: false,
        comment: false,
    };
    let mut lines = text.split_inclusive('\n');
    let Some(title) = lines.next() else {
        return Cow::Borrowed(text);
    };
    let said: String = lines.filter(|line| kept.keeps(line)).collect();
    if title.len() + said.len() == text.len() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(title.to_owned() + &said)
    }
}

/// Where in a text a line stands.
struct Kept {
    fenced: bool,
    comment: bool,
}

impl Kept {
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
        !(is_box(line) || is_form_heading(line))
    }
}

/// A box to tick, ticked or not.
fn is_box(line: &str) -> bool {
    let item = line.strip_prefix(['-', '*', '+']).unwrap_or_default().trim_start();
    ["[ ]", "[x]", "[X]"].iter().any(|mark| item.starts_with(mark))
}

/// A line that is a heading, or all bold, and has only words of forms.
fn is_form_heading(line: &str) -> bool {
    let heading = line.trim_start_matches('#');
    let bold = line
        .strip_prefix("**")
        .and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    let title = match bold {
        Some(title) => title,
        None if heading.len() < line.len() => heading,
        None => return false,
    };
    let mut words = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.all(|word| FORM.binary_search(&word.to_lowercase().as_str()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        let mut sorted = FORM.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted, FORM);
    }

    #[test]
    fn forms_go_and_answers_stay() {
        let text = "### Describe the parser\n<!-- Thanks for\nfiling -->\n### Expected behavior\n**Steps to reproduce:**\n\
                    - [x] I have searched\n- a list\n## The lexer fails\n```\n# describe\n- [ ] in code\n```\nend";
        assert_eq!(
            without_form(text),
            "### Describe the parser\n- a list\n## The lexer fails\n```\n# describe\n- [ ] in code\n```\nend"
        );
    }

    #[test]
    fn other_texts_are_as_they_were() {
        for text in [
            "",
            "one line",
            "# Steps",
            "title\n\nIt fails.\n",
            "a\n**not** all bold\n#include <x.h>\n",
        ] {
            assert!(
                matches!(without_form(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }
}
