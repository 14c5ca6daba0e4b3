//! The text at the start of a conversation: ordered parts, each with its own bound.
//!
//! A hook prints it at the start of a session. A gateway puts it before the first block that is about the repository.

use std::sync::Arc;

use muninn_backend::access::Caller;
use muninn_config::paths;
use muninn_context_engine::render::{self, Ground, neutralize};
use muninn_context_engine::tokens;
use muninn_ledger::{Outcome, PreamblePart, ReceiptItem};
use muninn_notebooks::personal::Personal;
use muninn_notebooks::worklog::Tail;
use muninn_session::has_shell;
use muninn_session::transcript::Transcript;
use muninn_wire::Prompt;

use super::hook_session::HookSession;
use super::personal::{ABOUT_USER, always_loaded};
use super::turn::is_held_out;
use super::worklog::{handover_text, logged};
use super::{App, Workspace};

/// The most characters of a preamble.
const MOST_CHARACTERS: usize = 7_700;
/// The most characters of the worklog's last lines.
const MOST_WORKLOG: usize = 4_500;
/// The most characters of what the user's personal memory always tells.
const MOST_PERSONAL: usize = 2_500;
/// The characters of the code block around a quoted text.
const FRAME: usize = 40;
/// The most characters of the orientation.
const MOST_ORIENTATION: usize = 600;
/// The most tokens and characters of the wiki's digest.
const MOST_DIGEST_TOKENS: u32 = 990;
const MOST_DIGEST: usize = 6_000;

/// The first words of the parts that every conversation gets once; see also [`ABOUT_USER`].
const ORIENTATION: &str = "This repository has Muninn: ";
const WIKI: &str = "# The team's wiki";

/// The parts of the preamble that a conversation has not received.
#[derive(Clone, Copy)]
pub(super) struct Awaited {
    /// The files about the user.
    pub(super) about_user: bool,
    /// What Muninn knows of the repository, for a client that can ask it so.
    pub(super) about_repository: Option<Means>,
}

impl Awaited {
    /// Returns the parts that none of the conversation's blocks contains.
    pub(super) fn after<'b>(blocks: impl Iterator<Item = &'b str>, means: Means) -> Awaited {
        let mut awaited = Awaited { about_user: true, about_repository: Some(means) };
        for line in blocks.flat_map(str::lines) {
            awaited.about_user &= !line.starts_with(ABOUT_USER);
            if line.starts_with(ORIENTATION) || line.starts_with(WIKI) {
                awaited.about_repository = None;
            }
        }
        awaited
    }
}

/// How a client can ask Muninn.
#[derive(Clone, Copy)]
pub(super) struct Means {
    shell: bool,
    mcp: bool,
}

impl Means {
    /// A client with hooks has a shell. Its other tools are unknown, and describe themselves.
    pub(super) const OF_HOOKS: Means = Means { shell: true, mcp: false };

    pub(super) fn of(prompt: &Prompt<'_>) -> Means {
        let mcp = prompt.tool_names().any(|name| name.contains("muninn"));
        Means { shell: has_shell(prompt), mcp }
    }

    /// Whether the client can recall a memory by its id.
    pub(super) fn can_recall(self) -> bool {
        self.shell || self.mcp
    }
}

/// A part of a preamble.
struct Part {
    /// Its name on receipts.
    name: &'static str,
    /// Words of ours.
    text: String,
    /// What others wrote, behind the name of its source.
    quoted: Option<(&'static str, String)>,
    /// The most characters that are kept.
    most: usize,
    /// The command that shows the whole text.
    rest: &'static str,
}

/// An assembled preamble.
pub(super) struct Preamble {
    /// The text, without a fence.
    pub(super) text: String,
    pub(super) parts: Vec<PreamblePart>,
}

impl Preamble {
    /// The preamble of a worktree that was set up for Muninn, without the parts about the repository if there are no `means`;
    /// `None` if there is nothing to say. It begins with the end of the
    /// worklog, if there is one. The cost is a look at the
    /// index in memory, and at the files of the wiki.
    pub(super) fn of(
        workspace: &Workspace,
        caller: &Caller,
        handover: Option<&Tail>,
        personal: Option<&Personal>,
        means: Option<Means>,
    ) -> Option<Preamble> {
        if !workspace.settings().context.enabled {
            return None;
        }
        let mut parts = Vec::new();
        let is_initialised = paths::is_initialised(&workspace.root);
        if is_initialised {
            parts.push(worklog(handover));
        }
        parts.extend(personal.map(about_user));
        if let Some(means) = means.filter(|_| is_initialised) {
            parts.extend([orientation(workspace, means), wiki_digest(workspace, caller)]);
        }
        assemble(&parts, MOST_CHARACTERS)
    }

    /// The preamble of a session outside of all repositories.
    pub(super) fn of_user(personal: &Personal) -> Option<Preamble> {
        assemble(&[about_user(personal)], MOST_CHARACTERS)
    }
}

impl Part {
    /// The part within a number of characters; empty if not even the note of what was cut fits.
    fn rendered(&self, most: usize) -> String {
        let Some((source, text)) = &self.quoted else {
            return bounded(self.text.trim(), most, self.rest);
        };
        let length = |text: &str| text.chars().count();
        let with = |text: &str| format!("{}\n{}", self.text.trim(), render::quoted(source, text).trim_end());
        let neutral = neutralize(text.trim(), Ground::Prose);
        let whole = with(&neutral);
        if length(&whole) <= most {
            return whole;
        }
        let frame = length(&whole) - length(&neutral);
        match bounded(&neutral, most.saturating_sub(frame), self.rest) {
            kept if kept.is_empty() => kept,
            kept => with(&kept),
        }
    }
}

/// Assembles parts in their order; `None` if all are empty. A part beyond its bound is cut at the end of a line, and says
/// so. The later parts get what the earlier ones leave of `most` characters.
fn assemble(parts: &[Part], most: usize) -> Option<Preamble> {
    let mut left = most;
    let (mut texts, mut sizes) = (Vec::new(), Vec::new());
    for part in parts.iter().filter(|part| !part.text.trim().is_empty()) {
        let kept = part.rendered(part.most.min(left));
        let characters = kept.chars().count();
        if characters == 0 {
            continue;
        }
        texts.push(kept);
        sizes.push(PreamblePart { part: part.name.to_owned(), characters });
        // With the line end before the next part.
        left = left.saturating_sub(characters + 1);
    }
    (!sizes.is_empty()).then(|| Preamble { text: texts.join("\n"), parts: sizes })
}

/// The beginning of a text with whole lines, and a note of the rest; empty if not even the note fits.
fn bounded(text: &str, most: usize, rest: &str) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let note = |cut: usize| format!("[cut: {cut} more characters; run `{rest}`]");
    // The note is longest if all is cut.
    let Some(room) = most.checked_sub(note(length).len()) else {
        return String::new();
    };
    let mut kept = String::new();
    let mut size = 0;
    for line in text.split_inclusive('\n') {
        size += line.chars().count();
        if size > room {
            break;
        }
        kept.push_str(line);
    }
    kept.push_str(&note(length - kept.chars().count()));
    kept
}

impl App {
    /// The preamble of a session that starts; `None` if the conversation holds one already, goes through a gateway, is held
    /// out, or has
    /// neither a repository that was set up for Muninn nor a user with personal memory.
    pub(super) async fn start_session(self: &Arc<Self>, session: &HookSession) -> Option<String> {
        let share = self.settings().config.context.holdout;
        let is_held_out = session.session.as_deref().is_some_and(|name| is_held_out(name, share));
        if is_held_out || self.sees_requests_of(session).await {
            return None;
        }
        let workspace = self.workspace_of(session).await;
        let caller = self.caller_at(&session.directory);
        let personal = self.personal_for_prompt(&caller);
        let preamble = tokio::task::spawn_blocking({
            let workspace = workspace.clone();
            let session = session.session.clone();
            move || {
                let personal = personal.as_ref().map(|(personal, _)| &**personal);
                let Some(workspace) = workspace else {
                    return personal.and_then(Preamble::of_user);
                };
                let worklog = workspace.worklog_in_use();
                let handover = worklog.and_then(|worklog| logged(worklog.deliver(session.as_deref())));
                Preamble::of(&workspace, &caller, handover.flatten().as_ref(), personal, Some(Means::OF_HOOKS))
            }
        });
        let preamble = preamble.await.ok()??;
        let mut receipt = self.hook_receipt(session, Transcript::empty(session.client).format());
        receipt.worktree = workspace.map(|workspace| workspace.root.display().to_string()).unwrap_or_default();
        receipt.outcome = Outcome::Injected;
        receipt.reason = Some("the start of a session".to_owned());
        receipt.preamble = preamble.parts;
        let block = render::block_after(&preamble.text, &[]);
        receipt.tokens = tokens::count(&block);
        if let Some(store) = &self.store {
            store.note_receipt(receipt);
        }
        Some(block)
    }
}

/// The end of the worklog. Its last lines count most, so lines are left out at the beginning.
fn worklog(handover: Option<&Tail>) -> Part {
    let text = handover.map(|tail| {
        let mut tail = tail.clone();
        while handover_text(&tail).chars().count() > MOST_WORKLOG {
            match tail.text.split_once('\n') {
                Some((_, rest)) => tail.text = rest.to_owned(),
                None => break,
            }
        }
        handover_text(&tail)
    });
    Part {
        name: "worklog",
        text: text.unwrap_or_default(),
        quoted: None,
        most: MOST_WORKLOG,
        rest: "muninn worklog show",
    }
}

/// The always-loaded files of the user's personal memory.
fn about_user(personal: &Personal) -> Part {
    let (heading, text) = always_loaded(personal, MOST_PERSONAL - FRAME);
    Part {
        name: ReceiptItem::PERSONAL,
        text: heading,
        quoted: Some(("Its files:", text)),
        most: MOST_PERSONAL,
        rest: "muninn personal context",
    }
}

/// What the team's wiki is about.
fn wiki_digest(workspace: &Workspace, caller: &Caller) -> Part {
    let digest = workspace.digest_for_prompt(caller, MOST_DIGEST_TOKENS);
    Part {
        name: "wiki",
        text: digest.as_ref().map_or("", |_| WIKI).to_owned(),
        quoted: digest.map(|digest| ("Its digest:", digest)),
        most: MOST_DIGEST,
        rest: "muninn wiki digest",
    }
}

/// What Muninn knows of a repository, and how this client asks it; empty where nothing was learned.
fn orientation(workspace: &Workspace, means: Means) -> Part {
    let counts = workspace.engine.as_ref().map(|engine| engine.memory_counts()).unwrap_or_default();
    let known = [
        (counts.records, "memory", "memories"),
        (counts.conflicts, "open conflict of memories", "open conflicts of memories"),
        (counts.pages, "knowledge page", "knowledge pages"),
    ];
    let known = known.into_iter().filter(|(count, ..)| *count > 0);
    let known = known.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }));
    let known = known.collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    if !known.is_empty() && (means.shell || means.mcp) {
        text = format!("{ORIENTATION}{known}. It adds what fits to a prompt by itself.\n");
    }
    if !text.is_empty() && means.shell {
        text.push_str(
            "To look further:\n\
             - `muninn recall WORDS`: what the team learned and decided\n\
             - `muninn definition NAME`, `muninn references NAME`, `muninn callers NAME`: code by name\n\
             - `muninn remember TEXT`: keep a fact for later sessions\n",
        );
        if counts.conflicts > 0 {
            text.push_str("- `muninn conflicts`: the open conflicts\n");
        }
    }
    if !text.is_empty() && means.mcp {
        text.push_str("The tools of the MCP server `muninn` look further.\n");
    }
    Part { name: "orientation", text, quoted: None, most: MOST_ORIENTATION, rest: "muninn status" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &'static str, text: &str, most: usize) -> Part {
        Part { name, text: text.to_owned(), quoted: None, most, rest: "muninn status" }
    }

    #[test]
    fn parts_keep_their_order_and_empty_ones_are_left_out() {
        let preamble = assemble(&[part("a", "one\n", 100), part("b", " \n", 100), part("c", "two", 100)], 8_000);
        let preamble = preamble.unwrap();
        assert_eq!(preamble.text, "one\ntwo");
        let sizes = preamble.parts.iter().map(|part| (&*part.part, part.characters));
        assert_eq!(sizes.collect::<Vec<_>>(), [("a", 3), ("c", 3)]);
        assert!(assemble(&[part("a", "", 100)], 8_000).is_none());
    }

    #[test]
    fn long_part_is_cut_at_a_line_and_says_so() {
        let text = "é first line\nsecond line\n".repeat(40);
        let preamble = assemble(&[part("a", &text, 200)], 8_000).unwrap();
        assert!(preamble.parts[0].characters <= 200, "{:?}", preamble.parts);
        let kept: String = preamble.text.lines().take_while(|line| !line.starts_with('[')).collect();
        let cut = text.trim().chars().count() - kept.chars().count() - kept.matches("line").count();
        assert!(
            preamble.text.contains(&format!("line\n[cut: {cut} more characters; run `muninn status`]")),
            "{}",
            preamble.text
        );
    }

    #[test]
    fn sum_of_all_parts_is_bounded() {
        let text = "0123456789\n".repeat(1_000);
        let parts = [part("a", &text, 5_000), part("b", &text, 5_000), part("c", &text, 5_000)];
        for most in [8_000, 500, 60, 10] {
            let size = assemble(&parts, most).map_or(0, |preamble| preamble.text.chars().count());
            assert!(size <= most, "{size} of {most}");
        }
        let preamble = assemble(&parts, 8_000).unwrap();
        assert_eq!(preamble.parts.len(), 2, "the third part has no room: {:?}", preamble.parts);
    }
}
