//! A conflict as doors show it.

use std::collections::{HashMap, HashSet};

use muninn_reconcile::{ConflictState, OpenConflict};
use muninn_repo_tools::Worktree;
use muninn_team::citations::CitationState;
use muninn_team::records::{Body, Decision, Record, kinds};
use serde::Serialize;
use serde_json::Number;

/// An open conflict, or an undecided pair.
#[derive(Debug, Serialize)]
pub struct ConflictView {
    /// The conflict's id.
    pub id: String,
    pub state: ConflictState,
    /// How probable a contradiction is, from 0 to 1; only of an undecided pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<f64>,
    /// The decisions of people who did not know of each other's, the oldest first. The latest holds meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionView>,
    /// Why the sides contradict each other: a reason per pair, each once.
    pub reasons: Vec<String>,
    /// Who found it: rules or a model.
    pub by: String,
    /// The evidence that the newest side replaces the others.
    pub proposal: Option<String>,
    /// The contradicting memories, the oldest first.
    pub sides: Vec<SideView>,
}

/// A person's decision on a conflict.
#[derive(Debug, Serialize)]
pub struct DecisionView {
    pub id: String,
    pub date: String,
    pub author: Option<String>,
    /// Ids of the memories that are kept.
    pub keep: Vec<String>,
    pub note: Option<String>,
}

impl From<&Decision> for DecisionView {
    fn from(decision: &Decision) -> DecisionView {
        DecisionView {
            id: decision.id.clone(),
            date: decision.ts.to_string(),
            author: decision.author.clone(),
            keep: decision.keep.clone(),
            note: decision.note.clone(),
        }
    }
}

/// One side of a conflict: a learning or a pattern.
#[derive(Debug, Serialize)]
pub struct SideView {
    /// The record's id.
    pub id: String,
    /// The statement.
    pub text: String,
    /// The words of the statement that not all sides have.
    pub differing: Vec<String>,
    pub subject: Option<String>,
    /// The files or names of a pattern.
    pub entities: Vec<String>,
    /// The time of writing.
    pub date: String,
    /// The session in which it was written.
    pub session: Option<String>,
    /// The branch on which it was written.
    pub branch: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// The confidence, from 0 to 1.
    pub confidence: Option<f64>,
    pub files: Vec<CitedPlace>,
}

#[derive(Debug, Serialize)]
pub struct CitedPlace {
    pub path: String,
    /// The lines, such as `10-20`; `None` for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
    /// The change since the memory was written.
    pub today: CitationState,
}

impl ConflictView {
    pub fn of(worktree: &Worktree, open: &OpenConflict) -> Self {
        let mut reasons: Vec<String> = Vec::new();
        let mut found_by = String::new();
        for pair in &open.pairs {
            let Body::Conflict(kinds::Conflict { by, reason, .. }) = &pair.body else {
                continue;
            };
            found_by.clone_from(by);
            if !reasons.contains(reason) {
                reasons.push(reason.clone());
            }
        }
        let mut sides: Vec<SideView> = open.sides.iter().map(|side| SideView::of(worktree, side)).collect();
        mark_differing(&mut sides);
        Self {
            id: open.id.clone(),
            state: open.state(),
            certainty: open.certainty(),
            decisions: open.split.iter().map(DecisionView::from).collect(),
            reasons,
            by: found_by,
            proposal: open.proposal.clone(),
            sides,
        }
    }
}

/// The words of a text, without the punctuation around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_around = |c: char| matches!(c, '.' | ',' | ';' | ':' | '(' | ')' | '"' | '!' | '?');
    text.split_whitespace().map(move |word| word.trim_matches(is_around))
}

/// Sets the words of each side that not all sides have.
fn mark_differing(sides: &mut [SideView]) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for side in &*sides {
        let distinct: HashSet<&str> = words(&side.text).collect();
        for word in distinct {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    let all = sides.len();
    for side in sides {
        let mut differing: Vec<String> = Vec::new();
        for word in words(&side.text).filter(|word| counts.get(*word).is_some_and(|count| *count < all)) {
            if !differing.iter().any(|known| known == word) {
                differing.push(word.to_owned());
            }
        }
        side.differing = differing;
    }
}

impl SideView {
    fn of(worktree: &Worktree, record: &Record) -> Self {
        let (text, subject, entities, author, confidence) = match &record.body {
            Body::Learning(kinds::Learning { text, subject, confidence, author }) => {
                (text.clone(), subject.clone(), Vec::new(), author.clone(), confidence)
            }
            Body::Pattern(kinds::Pattern { pattern, entities, confidence, author }) => {
                (pattern.clone(), None, entities.clone(), author.clone(), confidence)
            }
            _ => (String::new(), None, Vec::new(), None, &None),
        };
        let origin = &record.origin;
        let files = origin.sources.iter().map(|source| match source.citation() {
            Some(citation) => CitedPlace {
                path: citation.path.to_string(),
                lines: citation.lines.map(|lines| format!("{}-{}", lines.first, lines.last)),
                today: citation.state(worktree, &|_| Vec::new()),
            },
            None => CitedPlace { path: source.path.clone(), lines: None, today: CitationState::Gone },
        });
        Self {
            id: record.id.clone(),
            text,
            differing: Vec::new(),
            subject,
            entities,
            date: record.ts.to_string(),
            session: origin.session.clone(),
            branch: origin.branch.clone(),
            author,
            confidence: confidence.as_ref().and_then(Number::as_f64),
            files: files.collect(),
        }
    }
}
