//! Extracting records from one request of a conversation.

use std::cell::OnceCell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use muninn_backend::access::Caller;
use muninn_base::RelPath;
use muninn_ledger::{Receipt, Store as Receipts};
use muninn_notebooks::personal::{Personal, SignalContext};
use muninn_personal::reminders::is_prompt;
use muninn_reconcile::Judge;
use muninn_reconcile::judge::{Claim, FittedJudge, Relation};
use muninn_session::{Identity, ToolEffects, answer, human_turn, named_files, tool_effects};
use muninn_team::Memory;
use muninn_team::learn::decisions::{Decision, Speaker, decisions};
use muninn_team::learn::{ShownNote, Turn, is_used, summary};
use muninn_team::records::SpoolError;
use muninn_wire::{Prompt, Role, ToolPart, WireFormat};
use serde_json::json;

use super::answer::ObservedAnswer;
use super::conversation::{ConversationTurns, SummarizerChoice};
use super::place::place;
use super::usage;
use crate::Workspace;
use crate::personal_use::is_used_in;
use crate::signal_log::SignalLog;

/// A request of a conversation, as it came in.
pub struct ObservedRequest {
    pub body: Bytes,
    pub format: WireFormat,
    pub conversation: ObservedConversation,
    pub answer: Arc<ObservedAnswer>,
    pub workspace: Arc<Workspace>,
    pub caller: Caller,
    /// The summarizer of the conversation.
    pub summarizer: Option<SummarizerChoice>,
    pub observing: Observing,
    /// The personal memory of this machine's user, of which nothing is learned.
    pub personal: Option<Arc<Personal>>,
    /// Where the turns' events are logged, if they are.
    pub signals: Option<SignalLog>,
}

/// The conversation of an observed request.
pub struct ObservedConversation {
    /// Its session id or derived id.
    pub name: String,
    /// The directories that the client claims.
    pub claimed: Vec<String>,
}

impl ObservedConversation {
    /// The conversation of a request; `None` if it has neither a session id nor a derived id.
    pub fn of(identity: &Identity<'_>) -> Option<ObservedConversation> {
        Some(ObservedConversation { name: identity.conversation()?, claimed: identity.claimed_directories.now.clone() })
    }
}

/// What was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observing {
    /// A request. The conversation ends when none follows for a while.
    Request,
    /// A transcript with a new prompt. Only its earlier turns are complete.
    Transcript,
    /// The transcript of a session that ends: it holds the answer to its last turn.
    EndedTranscript,
}

/// The turns of a conversation to learn from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnsToLearn {
    /// The turn before the newest, if the newest has no answer yet.
    Earlier,
    /// The newest turn, and the conversation as a whole.
    Last,
}

/// The conversation of a request that was learned from.
pub(super) struct LearnedConversation {
    /// Its session id or derived id.
    pub(super) name: String,
    /// All its turns, if it has ended.
    pub(super) whole: Option<ConversationTurns>,
}

impl ObservedRequest {
    /// The bytes as which it counts in the queue. A short one counts as 16 kB, so that there are at most 4,096 of them.
    pub(super) fn queued_bytes(&self) -> usize {
        self.body.len().max(16 << 10)
    }

    /// Learns from the request; `None` without a human turn, and where a reminder runs the conversation. The receipts may lack
    /// what other processes have written since `as_of`.
    pub(super) fn learn_from(
        &self,
        part: TurnsToLearn,
        (receipts, as_of): (Option<&dyn Receipts>, Instant),
        lookup: Instant,
    ) -> Option<LearnedConversation> {
        let prompt = Prompt::parse(self.format, &self.body).ok()?;
        let ObservedConversation { name, claimed } = &self.conversation;
        let turns = human_turns(&prompt);
        if turns.iter().any(|(_, question)| is_prompt(question)) {
            return None;
        }
        let newest = turns.len().checked_sub(1)?;
        let is_new = turns[newest].0 >= prompt.tail();
        let read = ReadRequest {
            request: self,
            prompt: &prompt,
            turns: &turns,
            first_words: turns.iter().map(|_| OnceCell::new()).collect(),
            name,
            claimed,
            store: receipts,
            learned: (part == TurnsToLearn::Earlier).then(|| newest.saturating_sub(1)),
            receipts: OnceCell::new(),
            as_of,
            lookup,
        };
        let (kept, whole) = match part {
            TurnsToLearn::Earlier if is_new && newest > 0 => (read.learn_answered(newest - 1), None),
            TurnsToLearn::Earlier => (Ok(()), None),
            TurnsToLearn::Last => {
                let whole = read.whole(newest);
                (self.keep_whole(name, &whole), Some(whole))
            }
        };
        if let Err(error) = kept {
            tracing::warn!(%error, "cannot write records to the spool");
        }
        Some(LearnedConversation { name: name.clone(), whole })
    }

    fn keep_turn(&self, name: &str, turn: &Turn, mark: &str) -> Result<(), SpoolError> {
        if let (Some(store), false) = (&self.workspace.memory, turn.is_empty()) {
            let learn = |origin| turn.records(&place(&self.workspace, store, origin));
            store.keep(name, Some(mark), learn)?;
        }
        Ok(())
    }

    /// Keeps the records of an ended conversation: those of its last turn, and the session summary.
    fn keep_whole(&self, name: &str, whole: &ConversationTurns) -> Result<(), SpoolError> {
        let (Some(store), Some(last), Some(mark)) = (&self.workspace.memory, whole.turns.last(), whole.marks.last())
        else {
            return Ok(());
        };
        self.keep_turn(name, last, mark)?;
        if whole.turns.iter().any(|turn| !turn.edited.is_empty()) {
            let learn = |origin| {
                let place = place(&self.workspace, store, origin);
                summary(&whole.turns, &place).into_iter().collect()
            };
            store.keep(name, Some(&format!("summary {mark}")), learn)?;
        }
        Ok(())
    }

    /// Whether a path is a file of the worktree that git does not ignore.
    fn may_be_named(&self, path: &RelPath) -> bool {
        let Some(engine) = &self.workspace.engine else {
            return false;
        };
        engine.has_file(path)
    }

    /// Brings the index up to date, so that files of the agent's making are known.
    fn catch_up(&self, until: Instant) {
        if let Some(engine) = &self.workspace.engine {
            engine.catch_up(until);
        }
    }

    /// The question's terms that the repository contains. It brings the index up to date.
    fn terms(&self, question: &str, until: Instant) -> Vec<String> {
        let engine = self.workspace.engine.as_ref();
        engine.map(|engine| engine.known_terms(question, until)).unwrap_or_default()
    }
}

/// A request whose turns are learned from.
struct ReadRequest<'a> {
    request: &'a ObservedRequest,
    prompt: &'a Prompt<'a>,
    /// The human turns: the message index and the question of each.
    turns: &'a [(usize, String)],
    /// The words of each question by which its receipts are found.
    first_words: Vec<OnceCell<String>>,
    /// The conversation's session id or derived id.
    name: &'a str,
    /// The directories that the client claims.
    claimed: &'a [String],
    store: Option<&'a dyn Receipts>,
    /// The turn that is learned from, if it is only one.
    learned: Option<usize>,
    /// The receipts of what is learned from, read when they are first asked for; `None` if they cannot be read.
    receipts: OnceCell<Option<Vec<Receipt>>>,
    /// The time after which what other processes write may be missing in them.
    as_of: Instant,
    /// The deadline for finding a question's terms.
    lookup: Instant,
}

impl ReadRequest<'_> {
    /// Learns from a turn whose answer the request holds.
    fn learn_answered(&self, at: usize) -> Result<(), SpoolError> {
        let (_, question) = &self.turns[at];
        if self.prompt.messages[self.messages(at)].iter().any(|message| !message.tools.is_empty()) {
            self.request.catch_up(self.lookup);
        }
        let effects = self.effects(at);
        let answer = self.answer(at);
        let decisions = self.decisions(question, &answer);
        let notes = self.notes(at, &answer, &decisions);
        self.note_usage(at, &effects, &notes, false);
        self.signal(at, &effects);
        let mut turn = Turn { decisions, notes, ..self.turn(at, effects) };
        if !turn.is_empty() {
            turn.terms = self.request.terms(question, self.lookup);
        }
        self.request.keep_turn(self.name, &turn, &mark(&self.turns[..=at]))
    }

    /// All turns of an ended conversation. The answer to the last one is the one that the client got, if it is complete.
    fn whole(&self, newest: usize) -> ConversationTurns {
        let (_, question) = &self.turns[newest];
        let terms = self.request.terms(question, self.lookup);
        let mut effects: Vec<ToolEffects> = (0..=newest).map(|at| self.effects(at)).collect();
        let last_answer = self.last_answer(newest);
        if let Some(text) = &last_answer {
            effects[newest].cite(text, self.places(), &|path| self.request.may_be_named(path));
        }
        let is_open = last_answer.is_none();
        let last_answer = last_answer.filter(|_| !self.is_personal(newest));
        let decisions = self.decisions(question, last_answer.as_deref().unwrap_or_default());
        // Without an answer nobody knows what the turn used.
        let notes = last_answer.as_deref().map(|text| self.notes(newest, text, &decisions)).unwrap_or_default();
        self.note_usage(newest, &effects[newest], &notes, is_open);
        self.signal(newest, &effects[newest]);
        self.signal_end(newest);
        let answers = (0..=newest).map(|at| self.answer(at));
        let mut whole = ConversationTurns {
            answers: answers.collect(),
            marks: (0..=newest).map(|at| mark(&self.turns[..=at])).collect(),
            turns: (0..).zip(effects).map(|(at, effects)| self.turn(at, effects)).collect(),
        };
        if let Some(last) = whole.turns.last_mut() {
            last.terms = terms;
            (last.decisions, last.notes) = (decisions, notes);
        }
        if let (Some(text), Some(last)) = (last_answer, whole.answers.last_mut()) {
            *last = text;
        }
        whole
    }

    /// The text of the answer to a turn, as far as it may be learned from.
    fn answer(&self, at: usize) -> String {
        if self.is_personal(at) { String::new() } else { answer(self.prompt, self.messages(at)) }
    }

    /// Whether the answer to a turn may contain personal memory: the turn carried texts of it, or the agent used it. If the
    /// receipts cannot be read, it may.
    fn is_personal(&self, at: usize) -> bool {
        if self.uses_personal(at) {
            return true;
        }
        let receipts = self.receipts();
        receipts.is_none_or(|receipts| usage::is_personal(receipts, self.first_words(at), at == 0))
    }

    fn first_words(&self, at: usize) -> &str {
        self.first_words[at].get_or_init(|| Receipt::first_words_of(&self.turns[at].1))
    }

    /// Whether the agent used personal memory in a turn.
    fn uses_personal(&self, at: usize) -> bool {
        let messages = &self.prompt.messages[self.messages(at)];
        is_used_in(self.request.personal.as_deref(), messages)
    }

    fn receipts(&self) -> Option<&[Receipt]> {
        let read = || {
            let Some(store) = self.store else {
                return Some(Vec::new());
            };
            let about = self.learned.map(|at| self.first_words(at));
            let receipts = usage::receipts_of(store, self.name, (about, self.as_of));
            receipts.inspect_err(|error| tracing::debug!(%error, "the receipts of the conversation are not read")).ok()
        };
        self.receipts.get_or_init(read).as_deref()
    }

    /// The complete answer to the newest turn: a copy of what the client got, or the end of a transcript.
    fn last_answer(&self, newest: usize) -> Option<String> {
        let is_answered = || {
            let last = self.prompt.messages.last();
            self.request.observing == Observing::EndedTranscript
                && last.is_some_and(|message| message.role == Role::Assistant)
        };
        let copied = self.request.answer.text(self.request.format);
        copied.or_else(|| is_answered().then(|| answer(self.prompt, self.messages(newest))))
    }

    /// The messages between a human turn and the next one.
    fn messages(&self, at: usize) -> Range<usize> {
        let next = self.turns.get(at + 1).map(|(next, _)| *next);
        self.turns[at].0 + 1..next.unwrap_or(self.prompt.messages.len())
    }

    /// The effects of the agent's tools in one human turn.
    fn effects(&self, at: usize) -> ToolEffects {
        let is_there = |path: &RelPath| self.request.may_be_named(path);
        tool_effects(self.prompt, self.messages(at), self.places(), &is_there)
    }

    /// Makes the record of one human turn from the effects of the agent's tools.
    fn turn(&self, at: usize, effects: ToolEffects) -> Turn {
        let ToolEffects { edited, cited, read, mut failures, .. } = effects;
        // Failures quote commands and output, which may hold personal texts.
        if !failures.is_empty() && self.uses_personal(at) {
            failures.clear();
        }
        Turn { question: self.turns[at].1.clone(), edited, cited, read, failures, ..Turn::default() }
    }

    /// The root of the worktree, and the directories that the client claims.
    fn places(&self) -> (&Path, &[String]) {
        (&self.request.workspace.root, self.claimed)
    }

    /// Notes the effects of a turn on its receipt. `is_open`: whether its answer is unknown.
    fn note_usage(&self, at: usize, effects: &ToolEffects, notes: &[ShownNote], is_open: bool) {
        let Some(store) = self.store else { return };
        let receipts = self.receipts().unwrap_or_default();
        for receipt in usage::marked(receipts, self.first_words(at), (effects, notes), is_open) {
            self.request.workspace.note_effect(&receipt);
            store.note_receipt(receipt);
        }
    }

    /// What the agent did with the notes in a turn's prompt; nothing is said of a turn whose answer may be personal.
    fn notes(&self, at: usize, answer: &str, decisions: &[Decision]) -> Vec<ShownNote> {
        if self.is_personal(at) {
            return Vec::new();
        }
        let question = &self.turns[at].1;
        let shown = usage::notes(self.receipts().unwrap_or_default(), question, self.first_words(at));
        let Some(engine) = self.request.workspace.engine.as_ref().filter(|_| !shown.is_empty()) else {
            return Vec::new();
        };
        let memories = engine.current_memories();
        let messages = self.prompt.messages[self.messages(at)].iter();
        let calls = messages.flat_map(|message| &message.tools).filter_map(|part| match part {
            ToolPart::Call { arguments, .. } => Some(&**arguments),
            ToolPart::Result { .. } => None,
        });
        let doings: String = calls.chain([answer]).collect::<Vec<_>>().join("\n");
        let shown = memories.items().iter().filter_map(|memory| {
            let (_, words) = shown.iter().find(|(id, _)| *id == memory.source)?;
            Some((memory, words))
        });
        let judge = (!decisions.is_empty()).then(FittedJudge::shipped).and_then(Result::ok);
        let note = |(memory, words): (&Memory, &String)| ShownNote {
            id: memory.source.clone(),
            used: is_used(&memory.source, &memory.text, words, &doings),
            contradicted: judge.as_ref().is_some_and(|judge| contradicts(judge, decisions, memory)),
        };
        shown.map(note).collect()
    }

    /// Logs what happened in a turn, once.
    fn signal(&self, at: usize, effects: &ToolEffects) {
        let mark = || format!("{} {}", self.name, mark(&self.turns[..=at]));
        let Some(signals) = self.request.signals.as_ref().filter(|signals| signals.is_new(mark())) else {
            return;
        };
        let of_session = || SignalContext { trigger: Some(self.name.to_owned()), ..SignalContext::default() };
        if at == 0 {
            let worktree = self.request.workspace.root.display().to_string();
            signals.log("session_start", of_session(), Some(json!({"worktree": worktree})));
        }
        if let Some(receipt) = usage::injected(self.receipts().unwrap_or_default(), self.first_words(at)) {
            let sources: Vec<&str> = receipt.items.iter().map(|item| &*item.source).collect();
            signals.log("injection", of_session(), Some(json!({"receipt": receipt.id, "items": sources})));
        }
        for (kind, paths) in [("file_read", &effects.read), ("file_edit", &effects.edited)] {
            for path in paths {
                let file = Some(self.request.workspace.root.join(path.as_str()).display().to_string());
                signals.log(kind, SignalContext { file, ..of_session() }, None);
            }
        }
        for failure in &effects.failures {
            signals.log("error", of_session(), Some(json!({"attempt": failure.attempt})));
        }
    }

    /// Logs the end of a session, once for each last turn.
    fn signal_end(&self, newest: usize) {
        let mark = || format!("end {} {}", self.name, mark(&self.turns[..=newest]));
        if let Some(signals) = self.request.signals.as_ref().filter(|signals| signals.is_new(mark())) {
            let context = SignalContext { trigger: Some(self.name.to_owned()), ..SignalContext::default() };
            signals.log("session_end", context, Some(json!({"turns": newest + 1})));
        }
    }

    /// The decisions that a question or its answer states and that are not recorded yet, if the user allows text.
    fn decisions(&self, question: &str, answer: &str) -> Vec<Decision> {
        let workspace = &self.request.workspace;
        let Some(store) = workspace.memory.as_ref().filter(|_| workspace.settings().memory.with_text) else {
            return Vec::new();
        };
        let stated = |text: &str, speaker| {
            let decisions = decisions(text, speaker).into_iter();
            decisions.map(move |text| Decision {
                files: named_files(&text, self.places(), &|path| self.request.may_be_named(path)),
                text,
                speaker,
            })
        };
        let by_agent = stated(answer, Speaker::Agent);
        let decisions = store.new_decisions(stated(question, Speaker::User).chain(by_agent).collect());
        // If HEAD cannot be read, nothing is kept, and keeping reports it.
        decisions.unwrap_or_default()
    }
}

/// Whether one of these decisions seems to contradict a memory: rules cannot tell for certain.
fn contradicts(judge: &FittedJudge, decisions: &[Decision], memory: &Memory) -> bool {
    let note = Claim::of(memory.statement());
    let relation = |decision: &Decision| judge.judge(&note, &Claim::of(decision.statement())).relation;
    decisions.iter().any(|decision| relation(decision) == Relation::Undecided)
}

/// The human turns: the message index and the question of each.
fn human_turns(prompt: &Prompt<'_>) -> Vec<(usize, String)> {
    let messages = 0..prompt.messages.len();
    messages.filter_map(|index| Some((index, human_turn(prompt, index)?.question))).collect()
}

/// The mark of the last of these turns: a hash of all questions so far.
fn mark(turns: &[(usize, String)]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("muninn learned turn 1");
    for (_, question) in turns {
        hasher.update(&(question.len() as u64).to_le_bytes());
        hasher.update(question.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
