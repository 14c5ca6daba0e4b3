//! The turns of one exploration.

use std::collections::HashSet;
use std::time::Instant;

use muninn_memory::model::{Ask, Choice, ModelError, Reply, Tool};
use muninn_memory::redact;
use serde_json::Value;

use super::budget::Budget;
use super::dialect::citations::{Cited, citations, citations_in};
use super::dialect::{self, Malformed, ParsedCall, Said};
use super::offer::FINAL;
use super::prompt::{self, LAST_TURN, REPEATED};
use super::talk::{Talk, estimated};
use super::trace::{Ended, Trace, TurnTrace};
use super::{Explorer, Seen, Task, millis};

/// Calls of one turn; more are left out.
const MOST_CALLS: usize = 16;
/// Of a result, this much is shown at a time, in bytes.
const LONGEST_PAGE: usize = 16_000;
const SHORTEST_PAGE: usize = 600;
const BYTES_PER_TOKEN: u64 = 3;
/// The least room for an answer that is worth asking for, in tokens.
const SMALLEST_ANSWER: u64 = 64;

/// What an exploration said at its end.
pub(super) struct Answer {
    pub(super) ended: Ended,
    pub(super) cited: Vec<Cited>,
    pub(super) answer: Option<String>,
}

impl Answer {
    fn none(ended: Ended) -> Self {
        Self {
            ended,
            cited: Vec::new(),
            answer: None,
        }
    }
}

impl Explorer<'_> {
    /// Asks the model again and again, until it answers or something is used up.
    pub(super) async fn turns(&self, task: &Task<'_>, budget: &Budget, trace: &mut Trace, seen: &mut Seen) -> Answer {
        let deeper = budget.share(1).is_some();
        let mut turns = Turns {
            explorer: self,
            task,
            budget,
            talk: self.talk(task, budget, deeper, true),
            tools: self.offer.tools(deeper, self.limits.tool_required),
            deeper,
            before: HashSet::new(),
            idle: 0,
        };
        for number in 1..=self.limits.turns {
            if let Some(ended) = over(budget, &turns.talk) {
                return Answer::none(ended);
            }
            if let Some(answer) = turns.turn(number, trace, seen).await {
                return answer;
            }
        }
        Answer::none(Ended::Turns)
    }

    /// A conversation that begins: what the model is told, in the backend's form of tools or in words.
    fn talk(&self, task: &Task<'_>, budget: &Budget, deeper: bool, native: bool) -> Talk {
        let tree = self.tree(task, budget);
        let scope = task.scope.map(ToString::to_string);
        let opening = prompt::opening(task.question, scope.as_deref(), task.candidates, &tree);
        let opening = redact(&opening).into_owned();
        let tools = self.offer.words(deeper);
        let system = prompt::system(self.limits.turns, deeper, (!native).then_some(&*tools));
        let mut talk = Talk::new(system, opening, native);
        if native {
            // Said to the model with every turn, as the rest is.
            talk.tokens += estimated(&tools);
        }
        talk
    }
}

/// An exploration between two of its turns.
struct Turns<'e> {
    explorer: &'e Explorer<'e>,
    task: &'e Task<'e>,
    budget: &'e Budget,
    talk: Talk,
    tools: Vec<Tool>,
    /// Whether it may open others.
    deeper: bool,
    /// The calls that were made.
    before: HashSet<String>,
    /// Turns on end that brought nothing new: all of their calls had been made before, or none could be read.
    idle: u32,
}

impl Turns<'_> {
    /// One turn: what the model says, and the calls that it makes. Gives its answer where that is the end.
    async fn turn(&mut self, number: u32, trace: &mut Trace, seen: &mut Seen) -> Option<Answer> {
        let is_last = number == self.explorer.limits.turns || is_nearly_over(self.budget, &self.talk, trace);
        if is_last && number > 1 {
            self.talk.say(LAST_TURN.to_owned());
        }
        let started = Instant::now();
        let reply = match self.ask(is_last).await {
            Ok(reply) => reply,
            // Some servers take no tools, or not this choice of one. Then calls are text.
            Err(ModelError::Refused { status, .. }) if self.talk.native && number == 1 && is_about_tools(status) => {
                self.talk = self.explorer.talk(self.task, self.budget, self.deeper, false);
                match self.ask(is_last).await {
                    Ok(reply) => reply,
                    Err(error) => return Some(failed(&error, self.budget, trace)),
                }
            }
            Err(error) => return Some(failed(&error, self.budget, trace)),
        };
        let mut turn = account(&reply, &self.talk, self.budget, millis(started.elapsed()));
        let answer = match dialect::parse(&reply, &self.explorer.offer.known()) {
            Said::Final(words) => Some(Answer {
                ended: Ended::Words,
                cited: citations(&words),
                answer: Some(words),
            }),
            Said::Calls { calls, malformed } => {
                turn.dialect = calls.first().map_or("", |call| call.dialect.name()).to_owned();
                match calls.iter().find(|call| call.name == FINAL) {
                    Some(call) => Some(final_answer(call)),
                    None if is_last => Some(Answer::none(self.why_last(number))),
                    None => self.make(number, &reply, (calls, malformed), &mut turn, seen).await,
                }
            }
        };
        trace.turns.push(turn);
        answer
    }

    async fn ask(&self, is_last: bool) -> Result<Reply, ModelError> {
        let limits = self.explorer.limits;
        let room = self.budget.tokens().saturating_sub(self.talk.tokens);
        let ask = Ask {
            system: &self.talk.system,
            messages: &self.talk.messages,
            tools: if self.talk.native { &self.tools } else { &[] },
            choice: match (is_last, limits.tool_required) {
                (true, _) => Choice::Named(FINAL),
                (false, true) => Choice::Required,
                (false, false) => Choice::Auto,
            },
            shape: None,
            max_tokens: u32::try_from(room).unwrap_or(u32::MAX).min(limits.max_answer_tokens),
        };
        self.explorer.sources.model.ask_async(&ask, self.budget.until()).await
    }

    /// Makes the calls of a turn and tells the model what came of them. Gives an answer where there is no sense in going
    /// on.
    async fn make(
        &mut self,
        number: u32,
        reply: &Reply,
        (mut calls, malformed): (Vec<ParsedCall>, Vec<Malformed>),
        turn: &mut TurnTrace,
        seen: &mut Seen,
    ) -> Option<Answer> {
        let started = Instant::now();
        turn.left_out = calls.len().saturating_sub(MOST_CALLS) as u64;
        calls.truncate(MOST_CALLS);
        let bytes = self.page_bytes(number, calls.len());
        let made = self
            .explorer
            .make(self.task, self.budget, calls, &mut self.before, bytes)
            .await;
        turn.tools_ms = millis(started.elapsed());
        turn.calls = made.traces;
        seen.shown.extend(made.shown);
        seen.cited.extend(made.cited);
        self.talk.turn(number as usize, reply, made.told, malformed);
        if turn.left_out > 0 {
            let left_out = turn.left_out;
            let told = format!("Only the first {MOST_CALLS} calls were made; {left_out} more were left out.");
            self.talk.say(told);
        }
        self.idle = if made.all_repeated { self.idle + 1 } else { 0 };
        if self.idle > 1 {
            return Some(Answer::none(Ended::Repeats));
        }
        // What is wrong with calls that cannot be read has been told already.
        if self.idle == 1 && !turn.calls.is_empty() {
            self.talk.say(REPEATED.to_owned());
        }
        None
    }

    /// How much of each result is shown, so that the turns that are left can be paid: each of them sends everything again.
    fn page_bytes(&self, number: u32, calls: usize) -> usize {
        let left = u64::from(self.explorer.limits.turns.saturating_sub(number).max(1));
        let growth = (self.budget.tokens() / left).saturating_sub(self.talk.tokens);
        let bytes = growth * BYTES_PER_TOKEN / (calls.max(1) as u64);
        usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .clamp(SHORTEST_PAGE, LONGEST_PAGE)
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

/// Whether nothing more can be asked.
fn over(budget: &Budget, talk: &Talk) -> Option<Ended> {
    if budget.until().is_cancelled() {
        Some(Ended::Abandoned)
    } else if budget.until().is_over() {
        Some(Ended::Deadline)
    } else if budget.tokens() < talk.tokens + SMALLEST_ANSWER {
        Some(Ended::Tokens)
    } else {
        None
    }
}

/// Whether what is left suffices for one more turn only: models find the right places and then do not commit to them,
/// so the last turn is told to be the last.
fn is_nearly_over(budget: &Budget, talk: &Talk, trace: &Trace) -> bool {
    let slowest = trace
        .turns
        .iter()
        .map(|turn| turn.model_ms + turn.tools_ms)
        .fold(0.0, f64::max);
    let left = millis(budget.until().left());
    budget.calls() == 0 || budget.tokens() < 2 * talk.tokens + 4 * SMALLEST_ANSWER || left < 2.0 * slowest
}

/// Whether a refusal may be about tools.
fn is_about_tools(status: u16) -> bool {
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

/// Pays for an answer: what its backend says that it cost, or what it is estimated to.
fn account(reply: &Reply, talk: &Talk, budget: &Budget, model_ms: f64) -> TurnTrace {
    let words = || {
        let calls = reply.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        (reply.text.len() + calls) as u64 / BYTES_PER_TOKEN
    };
    let input = reply.usage.input.unwrap_or(talk.tokens);
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
    Answer {
        ended: Ended::Final,
        cited: places,
        answer: answer.map(str::to_owned),
    }
}
