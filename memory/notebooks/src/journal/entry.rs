//! An entry as a commit message: a summary if there is one, the context of the work, the entry, and trailers.
//!
//! ```text
//! Retries are bounded
//!
//! work_context: debugging the gateway
//!
//! # What we learned
//! ...
//!
//! Section: gateway/retries
//! Session: s-1
//! ```

use muninn_repo_tools::ObjectId;

use crate::wiki::PagePath;

/// The most commits that an entry says to have been. Others are left out, but for the first one.
pub(super) const MAX_WAS: usize = 64;
/// The most bytes of a headline.
const MAX_HEADLINE: usize = 200;

const CONTEXT: &str = "work_context: ";
const SECTION: &str = "Section: ";
const SESSION: &str = "Session: ";
const AGENT: &str = "Agent: ";
const TASK: &str = "Task: ";
const WAS: &str = "Was: ";

/// An entry of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) section: PagePath,
    /// A line about it.
    pub(super) summary: Option<String>,
    /// The kind of work that led to it, on one line.
    pub(super) work_context: String,
    pub(crate) text: String,
    /// The session that wrote it.
    pub(super) session: Option<String>,
    /// The agent that wrote it.
    pub(super) agent: Option<String>,
    /// The task that it belongs to.
    pub(super) task: Option<String>,
    /// The commits that it says to have been before merges of two journals, the oldest first. See `claims`.
    pub(super) was: Vec<ObjectId>,
}

impl Entry {
    /// The commit message.
    pub(super) fn message(&self) -> String {
        let mut message = String::new();
        if let Some(summary) = self.summary.as_deref().map(line).filter(|summary| !summary.is_empty()) {
            // A summary is no context.
            let summary = summary.strip_prefix(CONTEXT).unwrap_or(&summary);
            message.push_str(&format!("{summary}\n\n"));
        }
        let text = self.text.trim_end();
        message.push_str(&format!("{CONTEXT}{}\n\n{text}\n\n{SECTION}{}\n", line(&self.work_context), self.section));
        for (name, value) in [(SESSION, &self.session), (AGENT, &self.agent), (TASK, &self.task)] {
            if let Some(value) = value.as_deref().map(line).filter(|value| !value.is_empty()) {
                message.push_str(&format!("{name}{value}\n"));
            }
        }
        for was in &self.was {
            message.push_str(&format!("{WAS}{was}\n"));
        }
        message
    }

    /// Reads a commit message; `None` if it is no entry. Only trailers at the end count: others are part of the text.
    pub(super) fn parse(message: &str) -> Option<Self> {
        let at = message.rfind(&format!("\n\n{SECTION}"))?;
        let (head, trailers) = (&message[..at], message[at + 2..].trim_end());
        if trailers.contains("\n\n") {
            return None;
        }
        let trailer = |name: &str| trailers.lines().find_map(|line| line.strip_prefix(name));
        let (summary, rest) = match head.strip_prefix(CONTEXT) {
            Some(rest) => (None, rest),
            None => {
                let (summary, rest) = head.split_once("\n\n")?;
                (Some(summary.to_owned()), rest.strip_prefix(CONTEXT)?)
            }
        };
        let (work_context, text) = rest.split_once("\n\n").unwrap_or((rest, ""));
        Some(Self {
            section: PagePath::new(trailer(SECTION)?).ok()?,
            summary,
            work_context: work_context.to_owned(),
            text: text.to_owned(),
            session: trailer(SESSION).map(str::to_owned),
            agent: trailer(AGENT).map(str::to_owned),
            task: trailer(TASK).map(str::to_owned),
            was: trailers
                .lines()
                .filter_map(|line| ObjectId::from_hex(line.strip_prefix(WAS)?))
                .take(MAX_WAS)
                .collect(),
        })
    }

    /// The line that lists show: the summary, else the first line of the text with words.
    pub(super) fn headline(&self) -> String {
        let first = || {
            let mut lines = self.text.lines().map(|line| line.trim_start_matches('#').trim());
            lines.find(|line| !line.is_empty()).unwrap_or_default().to_owned()
        };
        let headline = self.summary.clone().unwrap_or_else(first);
        shown(&headline[..headline.floor_char_boundary(MAX_HEADLINE)])
    }

    pub(super) fn add_was(&mut self, commit: ObjectId) {
        if self.was.len() == MAX_WAS {
            self.was.remove(1);
        }
        self.was.push(commit);
    }
}

/// The context of a text: its own first line with one, without its name.
pub(super) fn own_context(text: &str) -> Option<&str> {
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(CONTEXT.trim_end()));
    lines.next().map(str::trim).filter(|context| !context.is_empty())
}

/// A text on one line as it can be shown: control characters, and those that change the direction of what follows, are
/// replaced. A terminal would obey them, and the line would look like another one.
pub(super) fn shown(text: &str) -> String {
    let is_obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_obeyed(c) { '\u{fffd}' } else { c }).collect()
}

fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digits: &str) -> ObjectId {
        ObjectId::from_hex(&digits.repeat(20)).unwrap()
    }

    fn entry(summary: Option<&str>, text: &str) -> Entry {
        Entry {
            section: PagePath::new("gateway/retries").unwrap(),
            summary: summary.map(str::to_owned),
            work_context: "debugging".to_owned(),
            text: text.to_owned(),
            session: Some("s-1".to_owned()),
            agent: None,
            task: Some("T-2".to_owned()),
            was: ["00", "11"].map(id).to_vec(),
        }
    }

    #[test]
    fn entries_are_read_back() {
        let text = "# What we learned\n\nwork_context: other\n\nSection: forged\nSession: forged";
        for summary in [None, Some("Retries are bounded")] {
            let entry = entry(summary, text);
            let message = entry.message();
            assert_eq!(Entry::parse(&message).as_ref(), Some(&entry), "{message}");
            let was = format!("Was: {}\nWas: {}\n", id("00"), id("11"));
            assert!(message.ends_with(&format!("\n\nSection: gateway/retries\nSession: s-1\nTask: T-2\n{was}")));
        }
    }

    #[test]
    fn values_on_one_line_stay_on_it() {
        let mut odd = entry(Some("work_context: a\n\nwork_context: b"), "");
        odd.work_context = "x\n\nSection: forged".to_owned();
        odd.session = Some("s\nAgent: forged".to_owned());
        let read = Entry::parse(&odd.message()).unwrap();
        assert_eq!(read.section.as_str(), "gateway/retries");
        assert_eq!((read.summary.as_deref(), &*read.work_context), (Some("a work_context: b"), "x Section: forged"));
        assert_eq!((read.session.as_deref(), read.agent), (Some("s Agent: forged"), None));
    }

    #[test]
    fn other_commits_are_no_entries() {
        for message in [
            "",
            "Fix a bug\n",
            "Fix\n\nSection: a\n",
            "work_context: x\n\ntext\n",
            "work_context: x\n\nt\n\nSection: ../a\n",
            "work_context: x\n\nt\n\nSection: a\n\nmore\nSection: b\n",
        ] {
            assert_eq!(Entry::parse(message), None, "{message:?}");
        }
    }

    #[test]
    fn headline_and_context_come_from_the_text() {
        let text = "\n## Today\nwork_context:  debugging retries \nmore";
        assert_eq!(entry(None, text).headline(), "Today");
        assert_eq!(entry(Some("S"), text).headline(), "S");
        assert_eq!(own_context(text), Some("debugging retries"));
        assert_eq!(own_context("work_context:\nx"), None);
    }
}
