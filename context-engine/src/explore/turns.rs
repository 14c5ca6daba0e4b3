//! The turns of one exploration.

use std::collections::HashSet;
use std::time::Instant;

use muninn_memory::model::{Ask, Choice, ModelError, Reply};
use muninn_memory::redact;
use serde_json::Value;

use super::budget::Budget;
use super::dialect::citations::{Cited, citations, citations_in};
use super::dialect::{self, KnownTool, ParsedCall, Said};
use super::prompt::{self, LAST_TURN, REPEATED};
use super::talk::Talk;
use super::tools::{self, FINAL};
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
    pub(super) fn turns(&self, task: &Task<'_>, budget: &Budget, trace: &mut Trace, seen: &mut Seen) -> Answer {
        let deeper = budget.share(1).is_some();
        let (tools, parameters) = (tools::tools(deeper), tools::parameters());
        let known: Vec<KnownTool<'_>> = parameters
            .iter()
            .map(|(name, parameters)| KnownTool { name, parameters })
            .collect();
        let opening = self.opening(task, budget);
        let mut talk = Talk::new(prompt::system(self.limits.turns, deeper, true), opening.clone(), true);
        let (mut before, mut repeats) = (HashSet::new(), 0);
        let mut number = 0;
        while number < self.limits.turns as usize {
            number += 1;
            if let Some(ended) = over(budget, &talk) {
                return Answer::none(ended);
            }
            let is_last = number == self.limits.turns as usize || is_nearly_over(budget, &talk, trace);
            if is_last && number > 1 {
                talk.say(LAST_TURN.to_owned());
            }
            let started = Instant::now();
            let room = budget.tokens().saturating_sub(talk.tokens);
            let ask = Ask {
                system: &talk.system,
                messages: &talk.messages,
                tools: if talk.native { &tools } else { &[] },
                choice: match (is_last, self.limits.tool_required) {
                    (true, _) => Choice::Named(FINAL),
                    (false, true) => Choice::Required,
                    (false, false) => Choice::Auto,
                },
                max_tokens: u32::try_from(room)
                    .unwrap_or(u32::MAX)
                    .min(self.limits.max_answer_tokens),
            };
            let reply = match self.model.ask(&ask, budget.until()) {
                Ok(reply) => reply,
                // Some servers take no tools, or not this choice of one. Then calls are text.
                Err(ModelError::Refused { status, .. }) if talk.native && number == 1 && is_about_tools(status) => {
                    talk = Talk::new(prompt::system(self.limits.turns, deeper, false), opening.clone(), false);
                    number = 0;
                    continue;
                }
                Err(error) => return failed(&error, budget, trace),
            };
            let mut turn = account(&reply, &talk, budget, millis(started.elapsed()));
            match dialect::parse(&reply, &known) {
                Said::Final(words) => {
                    trace.turns.push(turn);
                    return Answer {
                        ended: Ended::Words,
                        cited: citations(&words),
                        answer: Some(words),
                    };
                }
                Said::Calls { mut calls, malformed } => {
                    turn.dialect = calls.first().map_or("", |call| call.dialect.name()).to_owned();
                    if let Some(call) = calls.iter().find(|call| call.name == FINAL) {
                        let answer = final_answer(call);
                        trace.turns.push(turn);
                        return answer;
                    }
                    if is_last {
                        trace.turns.push(turn);
                        return Answer::none(self.why_last(number, budget));
                    }
                    let started = Instant::now();
                    turn.left_out = calls.len().saturating_sub(MOST_CALLS) as u64;
                    calls.truncate(MOST_CALLS);
                    let bytes = self.page_bytes(number, budget, &talk, calls.len());
                    let made = self.make(task, budget, calls, &mut before, bytes);
                    turn.tools_ms = millis(started.elapsed());
                    turn.calls = made.traces;
                    seen.shown.extend(made.shown);
                    seen.cited.extend(made.cited);
                    talk.turn(number, &reply, made.told, malformed);
                    if turn.left_out > 0 {
                        let left_out = turn.left_out;
                        talk.say(format!(
                            "Only the first {MOST_CALLS} calls were made; {left_out} more were left out."
                        ));
                    }
                    trace.turns.push(turn);
                    repeats = if made.all_repeated { repeats + 1 } else { 0 };
                    match repeats {
                        0 => {}
                        1 => talk.say(REPEATED.to_owned()),
                        _ => return Answer::none(Ended::Repeats),
                    }
                }
            }
        }
        Answer::none(Ended::Turns)
    }

    fn opening(&self, task: &Task<'_>, budget: &Budget) -> String {
        let tree = self.tree(task, budget.until());
        let scope = task.scope.map(ToString::to_string);
        let opening = prompt::opening(task.question, scope.as_deref(), task.candidates, &tree);
        redact(&opening).into_owned()
    }

    /// How much of each result is shown, so that the turns that are left can be paid: each of them sends everything again.
    fn page_bytes(&self, number: usize, budget: &Budget, talk: &Talk, calls: usize) -> usize {
        let left = (self.limits.turns as usize).saturating_sub(number).max(1) as u64;
        let growth = (budget.tokens() / left).saturating_sub(talk.tokens);
        let bytes = growth * BYTES_PER_TOKEN / (calls.max(1) as u64);
        usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .clamp(SHORTEST_PAGE, LONGEST_PAGE)
    }

    fn why_last(&self, number: usize, budget: &Budget) -> Ended {
        if number == self.limits.turns as usize {
            Ended::Turns
        } else if budget.calls() == 0 {
            Ended::Calls
        } else if budget.until().is_over() {
            Ended::Deadline
        } else {
            Ended::Tokens
        }
    }
}

/// Whether nothing more can be asked.
fn over(budget: &Budget, talk: &Talk) -> Option<Ended> {
    if budget.until().is_abandoned() {
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
        ModelError::Over { .. } if budget.until().is_abandoned() => Ended::Abandoned,
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
