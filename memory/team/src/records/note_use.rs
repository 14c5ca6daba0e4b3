use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::kinds;
use super::moment::Moment;
use super::record::Record;
use super::same::Representatives;

/// How often a note was in a prompt, and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NoteUse {
    /// How often prompts carried it.
    pub shown: u32,
    /// How often they did since an agent used it.
    pub unused: u32,
    /// How often a decision contradicted it.
    pub contradicted: u32,
    /// The last time that an agent used it.
    pub last_used: Option<Moment>,
}

impl NoteUse {
    /// How often a prompt carries a note that no agent uses.
    const CHANCES: u32 = 12;

    /// Whether no prompt carries the note any more, because agents do not use it. It is still recalled.
    pub fn is_retired(&self) -> bool {
        self.unused >= Self::CHANCES
    }
}

/// The uses of notes, collected from files in any order.
#[derive(Debug, Clone, Default)]
pub(super) struct NoteUses(Vec<(Moment, kinds::Use)>);

impl NoteUses {
    pub(super) fn take(&mut self, record: &Record, of: &kinds::Use) {
        self.0.push((record.ts.clone(), of.clone()));
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The uses of each note, by its representative.
    pub(super) fn by_note(mut self, same: &Representatives) -> HashMap<String, NoteUse> {
        self.0.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut notes: HashMap<String, NoteUse> = HashMap::new();
        for (moment, kinds::Use { shown, used, contradicted }) in self.0 {
            let mut note =
                |id: &str, change: &dyn Fn(&mut NoteUse)| change(notes.entry(same.kept(id).to_owned()).or_default());
            for id in &shown {
                note(id, &|note| (note.shown, note.unused) = (note.shown + 1, note.unused + 1));
            }
            for id in &used {
                note(id, &|note| (note.unused, note.last_used) = (0, Some(moment.clone())));
            }
            for id in &contradicted {
                note(id, &|note| note.contradicted += 1);
            }
        }
        notes
    }
}
