//! Notes about exactly the files or the commands of an agent's calls.

use std::cmp::Reverse;
use std::time::Instant;

use muninn_base::RelPath;
use muninn_recall::Memories;
use muninn_team::memories::Memory;
use muninn_text::tokens;

use super::Engine;
use crate::citations::Citations;
use crate::cost;
use crate::item::Item;
use crate::memory_selection::{is_derived, is_retired};
use crate::pack::memory_item;
use crate::render;

/// The separators of simple commands in a line of a shell.
const SEPARATORS: [char; 4] = ['&', '|', ';', '\n'];

/// The most notes about an action that are looked at, and the most that are offered. A block holds two or three.
const MOST_LOOKED_AT: usize = 200;
const MOST_NOTES: usize = 20;

/// Calls of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Action {
    /// The files that they touch.
    pub files: Vec<RelPath>,
    /// Lines of a shell.
    pub commands: Vec<String>,
}

impl Action {
    /// Returns whether a memory is about exactly one of the files, or quotes one of the commands.
    fn concerns(&self, memory: &Memory) -> bool {
        let cites = memory.cites.iter().any(|cited| self.files.contains(&cited.path));
        cites || self.commands.iter().any(|line| quotes_command(&memory.text, line))
    }
}

impl Engine {
    /// The notes of people about an action, the newest first, each with the other side of its conflict. `subject` names the
    /// action.
    pub fn notes_about(&self, subject: &str, action: &Action, deadline: Instant) -> Vec<Vec<Item>> {
        let state = self.state();
        let memories = self.memories(&state, deadline);
        let citations = Citations::new(self.worktree(), state.snapshot.as_deref());
        let now = self.settings.clock.now();
        let is_sure = |memory: &Memory| memory.is_statement() && !is_derived(memory) && !is_retired(memory, now);
        let concerned = memories.items().iter().filter(|memory| is_sure(memory) && action.concerns(memory));
        let mut concerned: Vec<&Memory> = concerned.collect();
        concerned.sort_by_key(|memory| Reverse(&memory.date));
        // Whether a citation is gone takes a look at the file.
        let there = concerned.into_iter().take(MOST_LOOKED_AT).filter(|memory| !citations.are_gone(memory));
        let item = |side: &Memory| memory_item(side, &citations, (0.0, vec![format!("about {subject}")]));
        there.take(MOST_NOTES).map(|memory| sides(&memories, memory).into_iter().map(item).collect()).collect()
    }
}

/// Those of the groups of [`Engine::notes_about`] that are not known yet and whose block ([`render::note_block`]) has at most
/// `most` tokens. A group is taken as a whole.
pub fn new_notes(subject: &str, groups: Vec<Vec<Item>>, is_known: &dyn Fn(&Item) -> bool, most: u32) -> Vec<Item> {
    let mut notes: Vec<Item> = Vec::new();
    for group in groups {
        let is_there = |side: &Item| is_known(side) || notes.iter().any(|note| note.source == side.source);
        if group.iter().any(is_there) {
            continue;
        }
        let together = [&notes[..], &group].concat();
        if tokens::count(&render::note_block(subject, &together)) <= most {
            notes = together;
        }
    }
    notes.iter_mut().for_each(|note| _ = cost::measure(note));
    notes
}

/// A memory, and the other side of its open conflict.
fn sides<'m>(memories: &'m Memories, memory: &'m Memory) -> Vec<&'m Memory> {
    let opponent = memories.opponent(memory).and_then(|doc| memories.get(doc));
    std::iter::once(memory).chain(opponent).collect()
}

/// Returns whether a text quotes the beginning of one of a line's commands in backticks: two words of it, or all of it.
fn quotes_command(text: &str, line: &str) -> bool {
    let commands: Vec<Vec<&str>> = line.split(SEPARATORS).map(|one| one.split_whitespace().collect()).collect();
    let quoted = text.split('`').skip(1).step_by(2).map(|quoted| quoted.split_whitespace().collect::<Vec<&str>>());
    let is_one_of = |quoted: &Vec<&str>| {
        commands.iter().any(|command| command == quoted || quoted.len() > 1 && command.starts_with(quoted))
    };
    quoted.filter(|quoted| !quoted.is_empty()).any(|quoted| is_one_of(&quoted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_by_its_beginning_and_not_by_a_token() {
        let text = "`cargo test` needs docker, `make` is slow, and `./x.sh --all` deletes the cache";
        for (line, quoted) in [
            ("cargo test -p core", true),
            ("cd core && cargo test", true),
            ("make", true),
            ("make install", false),
            ("cargo build", false),
            ("echo cargo test", false),
            ("./x.sh --all", true),
            ("./x.sh", false),
            ("", false),
        ] {
            assert_eq!(quotes_command(text, line), quoted, "{line}");
        }
    }
}
