//! The turns of one exploration.

use std::collections::HashSet;
use std::time::Instant;

use muninn_text::model::{ModelError, ModelRequest, Reply, Tool, ToolMode};
use muninn_text::redact;
use serde_json::Value;

use super::budget::Budget;
use super::conversation::{Conversation, estimate_tokens};
use super::dialect::citations::{Cited, citations, citations_in};
use super::dialect::{self, Malformed, ParsedCall, Said};
use super::prompt::{self, LAST_TURN, REPEATED};
use super::toolset::FINAL;
use super::trace::{Ended, Trace, TurnTrace};
use super::{Evidence, ExplorationTask, Explorer, millis};

/// Maximum number of calls in one turn.
const MAX_CALLS: usize = 16;
/// Maximum and minimum page size of a result, in bytes.
const MAX_PAGE: usize = 16_000;
const MIN_PAGE: usize = 600;
const BYTES_PER_TOKEN: u64 = 3;
/// Minimum number of tokens that must remain for an answer. If fewer remain, the model is not called.
const MIN_ANSWER: u64 = 64;

/// The end of an exploration with its answer.
pub(super) struct Answer {
    pub(super) ended: Ended,
    pub(super) cited: Vec<Cited>,
    pub(super) text: Option<String>,
}

impl Answer {
    fn none(ended: Ended) -> Self {
        Self { ended, cited: Vec::new(), text: None }
    }
}

impl Explorer<'_> {
    /// Calls the model in turns until it answers or a limit is reached.
    pub(super) async fn turns(
        &self,
        task: &ExplorationTask<'_>,
        budget: &Budget,
        trace: &mut Trace,
        evidence: &mut Evidence,
    ) -> Answer {
        let deeper = budget.share(1).is_some();
        let mut turns = Turns {
            explorer: self,
            task,
            budget,
            conversation: self.conversation(task, budget, deeper, true),
            tools: self.toolset.tools(deeper, self.limits.tool_required),
            deeper,
            before: HashSet::new(),
            idle: 0,
        };
        for number in 1..=self.limits.turns {
            if let Some(ended) = limit_reached(budget, &turns.conversation) {
                return Answer::none(ended);
            }
            if let Some(answer) = turns.turn(number, trace, evidence).await {
                return answer;
            }
        }
        Answer::none(Ended::Turns)
    }

    /// Starts the conversation, with the backend's tool format (`native`) or with the tools as prompt text.
    fn conversation(&self, task: &ExplorationTask<'_>, budget: &Budget, deeper: bool, native: bool) -> Conversation {
        let tree = self.tree(task, budget);
        let scope = task.scope.map(ToString::to_string);
        let opening = prompt::opening(task.question, scope.as_deref(), task.candidates, &tree);
        let opening = redact(&opening).into_owned();
        let tools = self.toolset.prompt_text(deeper);
        let system = prompt::system(self.limits.turns, deeper, (!native).then_some(&*tools));
        let mut conversation = Conversation::new(system, opening, native);
        if native {
            // The backend sends the tool descriptions with every turn.
            conversation.tokens += estimate_tokens(&tools);
        }
        conversation
    }
}

/// The state of an exploration between two turns.
struct Turns<'e> {
    explorer: &'e Explorer<'e>,
    task: &'e ExplorationTask<'e>,
    budget: &'e Budget,
    conversation: Conversation,
    tools: Vec<Tool>,
    /// Whether child explorations can be opened.
    deeper: bool,
    /// The keys of the calls so far.
    before: HashSet<String>,
    /// The number of consecutive turns that only repeated calls or had no call that could be parsed.
    idle: u32,
}

impl Turns<'_> {
    /// Runs one turn: the model's reply and its calls. Returns the answer if this turn is the last one.
    async fn turn(&mut self, number: u32, trace: &mut Trace, evidence: &mut Evidence) -> Option<Answer> {
        let is_last = number == self.explorer.limits.turns || is_nearly_over(self.budget, &self.conversation, trace);
        if is_last && number > 1 {
            self.conversation.add_user_text(LAST_TURN.to_owned());
        }
        let started = Instant::now();
        let reply = match self.ask(is_last).await {
            Ok(reply) => reply,
            // Some servers do not support tools, or do not support the chosen `tool_choice`. Then calls are written as
            // text.
            Err(ModelError::Refused { status, .. })
                if self.conversation.native && number == 1 && may_be_about_tools(status) =>
            {
                self.conversation = self.explorer.conversation(self.task, self.budget, self.deeper, false);
                match self.ask(is_last).await {
                    Ok(reply) => reply,
                    Err(error) => return Some(failed(&error, self.budget, trace)),
                }
            }
            Err(error) => return Some(failed(&error, self.budget, trace)),
        };
        let mut turn = account(&reply, &self.conversation, self.budget, millis(started.elapsed()));
        let answer = match dialect::parse(&reply, &self.explorer.toolset.known()) {
            Said::Final(words) => Some(Answer { ended: Ended::Words, cited: citations(&words), text: Some(words) }),
            Said::Calls { calls, malformed } => {
                let dialect = if reply.calls.is_empty() { "json" } else { "native" };
                turn.dialect = calls.first().map_or("", |_| dialect).to_owned();
                match calls.iter().find(|call| call.name == FINAL) {
                    Some(call) => Some(final_answer(call)),
                    None if is_last => Some(Answer::none(self.why_last(number))),
                    None => self.make(number, &reply, (calls, malformed), &mut turn, evidence).await,
                }
            }
        };
        trace.turns.push(turn);
        answer
    }

    async fn ask(&self, is_last: bool) -> Result<Reply, ModelError> {
        let limits = self.explorer.limits;
        let room = self.budget.tokens().saturating_sub(self.conversation.tokens);
        let ask = ModelRequest {
            system: &self.conversation.system,
            messages: &self.conversation.messages,
            tools: if self.conversation.native { &self.tools } else { &[] },
            choice: match (is_last, limits.tool_required) {
                (true, _) => ToolMode::Named(FINAL),
                (false, true) => ToolMode::Required,
                (false, false) => ToolMode::Auto,
            },
            shape: None,
            max_tokens: u32::try_from(room).unwrap_or(u32::MAX).min(limits.max_answer_tokens),
        };
        self.explorer.inputs.model.ask_async(&ask, self.budget.until()).await
    }

    /// Makes the calls of a turn and adds the results to the conversation. Returns an answer if the model only repeats
    /// its calls.
    async fn make(
        &mut self,
        number: u32,
        reply: &Reply,
        (mut calls, malformed): (Vec<ParsedCall>, Vec<Malformed>),
        turn: &mut TurnTrace,
        evidence: &mut Evidence,
    ) -> Option<Answer> {
        let started = Instant::now();
        turn.left_out = calls.len().saturating_sub(MAX_CALLS) as u64;
        calls.truncate(MAX_CALLS);
        let bytes = self.page_bytes(number, calls.len());
        let batch = self.explorer.make(self.task, self.budget, calls, &mut self.before, bytes).await;
        turn.tools_ms = millis(started.elapsed());
        turn.calls = batch.traces;
        evidence.shown.extend(batch.shown);
        evidence.cited.extend(batch.cited);
        self.conversation.add_turn(number as usize, reply, batch.answered, malformed);
        if turn.left_out > 0 {
            let left_out = turn.left_out;
            let note = format!("Only the first {MAX_CALLS} calls were made; {left_out} more were left out.");
            self.conversation.add_user_text(note);
        }
        self.idle = if batch.all_repeated { self.idle + 1 } else { 0 };
        if self.idle > 1 {
            return Some(Answer::none(Ended::Repeats));
        }
        // Each malformed call already has an error message of its own.
        if self.idle == 1 && !turn.calls.is_empty() {
            self.conversation.add_user_text(REPEATED.to_owned());
        }
        None
    }

    /// Returns the page size of each result. With it, the budget suffices for the remaining turns, although each turn
    /// sends the whole conversation again.
    fn page_bytes(&self, number: u32, calls: usize) -> usize {
        let left = u64::from(self.explorer.limits.turns.saturating_sub(number).max(1));
        let growth = (self.budget.tokens() / left).saturating_sub(self.conversation.tokens);
        let bytes = growth * BYTES_PER_TOKEN / (calls.max(1) as u64);
        usize::try_from(bytes).unwrap_or(usize::MAX).clamp(MIN_PAGE, MAX_PAGE)
    }

    fn why_last(&self, number: u32) -> Ended {
        if number == self.explorer.limits.turns {
            Ended::Turns
        } else if self.budget.calls() == 0 {
            Ended::Calls
        } else if self.budget.until().is_over() {
            Ended::Deadline
        } else {
            Ended::Tokens
        }
    }
}

/// Returns the limit that prevents another turn, if any.
fn limit_reached(budget: &Budget, conversation: &Conversation) -> Option<Ended> {
    if budget.until().is_cancelled() {
        Some(Ended::Abandoned)
    } else if budget.until().is_over() {
        Some(Ended::Deadline)
    } else if budget.tokens() < conversation.tokens + MIN_ANSWER {
        Some(Ended::Tokens)
    } else {
        None
    }
}

/// Returns whether the budget suffices for only one more turn. Models tend to find the right places without citing
/// them, so the last turn is announced to the model.
fn is_nearly_over(budget: &Budget, conversation: &Conversation, trace: &Trace) -> bool {
    let slowest = trace.turns.iter().map(|turn| turn.model_ms + turn.tools_ms).fold(0.0, f64::max);
    let left = millis(budget.until().left());
    budget.calls() == 0 || budget.tokens() < 2 * conversation.tokens + 4 * MIN_ANSWER || left < 2.0 * slowest
}

/// Returns whether a server can have refused a request with this status because of its tools.
fn may_be_about_tools(status: u16) -> bool {
    matches!(status, 400 | 404 | 405 | 415 | 422 | 500 | 501)
}

fn failed(error: &ModelError, budget: &Budget, trace: &mut Trace) -> Answer {
    let ended = match error {
        ModelError::Over { .. } if budget.until().is_cancelled() => Ended::Abandoned,
        ModelError::Over { .. } => Ended::Deadline,
        _ => Ended::Model,
    };
    trace.problem = Some(redact(&error.to_string()).into_owned());
    Answer::none(ended)
}

/// Spends the tokens of a reply and starts the trace of the turn. The backend's token counts are used if present;
/// otherwise they are estimated.
fn account(reply: &Reply, conversation: &Conversation, budget: &Budget, model_ms: f64) -> TurnTrace {
    let words = || {
        let calls = reply.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        (reply.text.len() + calls) as u64 / BYTES_PER_TOKEN
    };
    let input = reply.usage.input.unwrap_or(conversation.tokens);
    let output = reply.usage.output.unwrap_or_else(words);
    budget.spend_tokens(input.saturating_add(output));
    TurnTrace {
        input,
        cached: reply.usage.cached.unwrap_or(0),
        output,
        model_ms,
        truncated: reply.truncated,
        ..TurnTrace::default()
    }
}

fn final_answer(call: &ParsedCall) -> Answer {
    let cited = ["citations", "spans", "places", "files", "locations"];
    let cited = cited.iter().find_map(|name| call.arguments.get(*name));
    let answer = call.arguments.get("answer").and_then(Value::as_str);
    let mut places = cited.map(citations_in).unwrap_or_default();
    if places.is_empty() {
        places = answer.map(citations).unwrap_or_default();
    }
    Answer { ended: Ended::Final, cited: places, text: answer.map(str::to_owned) }
}
