//! What the lines of a worklog say. All of it is derived from the lines; no model reads them.

use std::io::{BufRead as _, BufReader};

use serde::Serialize;

use super::file::{Worklog, WorklogError};
use super::gossip::{BULLETS, gossip};
use super::mutation::{Mutation, MutationKind};

/// The longest line that is read, in bytes; the rest of a longer one is skipped.
const MOST_LINE: usize = 4 << 10;

/// A worklog's content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ParsedWorklog {
    /// The task of the title.
    pub task: Option<String>,
    /// The ids of sessions with a header, in order.
    pub sessions: Vec<String>,
    /// Failed attempts, in order.
    pub failures: Vec<String>,
    /// Declared mutations, in order.
    pub mutations: Vec<ParsedMutation>,
    /// Texts marked as gossip: discoveries that others should know.
    pub gossip: Vec<String>,
    /// Wished-for tools.
    pub wishes: Vec<String>,
}

/// A mutation in a worklog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParsedMutation {
    #[serde(flatten)]
    pub mutation: Mutation,
    /// What worked after it, such as the command that had failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worked: Option<String>,
}

impl Worklog {
    /// Reads the whole file.
    pub fn parsed(&self) -> Result<ParsedWorklog, WorklogError> {
        let mut reader = BufReader::new(self.open()?);
        let mut parsed = ParsedWorklog::default();
        let mut open = None;
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(self.failed(error)),
            }
            line.truncate(MOST_LINE);
            parsed.take(String::from_utf8_lossy(&line).trim_end(), &mut open);
        }
        parsed.close(&mut open);
        Ok(parsed)
    }
}

impl ParsedWorklog {
    /// Reads a line. `open` is the mutation whose lines are being read.
    fn take(&mut self, line: &str, open: &mut Option<ParsedMutation>) {
        if let Some(kind) = line.strip_prefix("## MUTATION: ") {
            self.close(open);
            let kind = kind.split([' ', '(']).next().unwrap_or_default();
            *open = kind.parse::<MutationKind>().ok().map(|kind| ParsedMutation {
                mutation: Mutation {
                    kind,
                    failed_on: String::new(),
                    switching_to: String::new(),
                    rationale: String::new(),
                },
                worked: None,
            });
            return;
        }
        if let Some(task) = line.strip_prefix("# JOURNAL — ").filter(|_| self.task.is_none()) {
            self.task = Some(task.to_owned());
            return;
        }
        if let Some(found) = open {
            let mutation = &mut found.mutation;
            if let Some((count, failed_on)) = line.split_once("x on: ").filter(|_| line.starts_with("Failed ")) {
                let is_count = count.trim_start_matches("Failed ").bytes().all(|byte| byte.is_ascii_digit());
                if is_count {
                    failed_on.clone_into(&mut mutation.failed_on);
                    return;
                }
            }
            if let Some(text) = line.strip_prefix("Switching to: ") {
                text.clone_into(&mut mutation.switching_to);
                return;
            }
            if let Some(text) = line.strip_prefix("Rationale: ") {
                text.clone_into(&mut mutation.rationale);
                return;
            }
        }
        if let Some((session, _)) = line.split_once("session ").filter(|_| line.starts_with("Agent: ")) {
            self.sessions.push(line[session.len() + "session ".len()..].to_owned());
            return;
        }
        let text = line.trim_start_matches(BULLETS);
        let after = |marker: &str| text.strip_prefix(marker).map(|rest| rest.trim().to_owned());
        if let Some(failed) = after("❌ Failed:").or_else(|| after("Failed:")) {
            self.failures.push(failed);
        } else if let Some(gossip) = gossip(line) {
            self.gossip.push(gossip.to_owned());
        } else if let Some(wish) = wished(text) {
            self.wishes.push(wish);
        } else if let Some(rest) = after("✅ Worked after ") {
            let (kind, what) = rest.split_once(':').unwrap_or((&rest, ""));
            self.close(open);
            let kind = kind.parse::<MutationKind>().ok();
            // The newest mutation of that kind.
            let found = self.mutations.iter_mut().rev();
            if let Some(found) = found.into_iter().find(|found| Some(found.mutation.kind) == kind) {
                found.worked.get_or_insert_with(|| what.trim().to_owned());
            }
        }
    }

    /// Ends the mutation that is being read. One without its lines is none.
    fn close(&mut self, open: &mut Option<ParsedMutation>) {
        self.mutations.extend(open.take().filter(|found| {
            let mutation = &found.mutation;
            !mutation.failed_on.is_empty() && !mutation.switching_to.is_empty()
        }));
    }
}

/// The tool that a line wishes for.
fn wished(line: &str) -> Option<String> {
    const WISH: &str = "i wish i had a tool for ";
    let at = line.to_ascii_lowercase().find(WISH)?;
    let wish = line.get(at + WISH.len()..)?.trim().trim_end_matches('.');
    (!wish.is_empty()).then(|| wish.to_owned())
}
