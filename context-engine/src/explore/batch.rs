//! Running the calls of one turn: first the tools on several threads, then the child explorations concurrently. Child
//! explorations mostly wait for their models.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use muninn_base::RelPath;
use muninn_text::redact;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::budget::Budget;
use super::conversation::AnsweredCall;
use super::dialect::ParsedCall;
use super::toolset::EXPLORE;
use super::trace::{CallTrace, short};
use super::{ExplorationTask, Explorer, call_cache, millis};
use crate::render::Ground;
use crate::tools::{self, Output, ToolContext};

/// Maximum number of tool calls that run at the same time. The same maximum applies to child explorations.
const AT_ONCE: usize = 8;

/// The results of a turn's calls.
#[derive(Default)]
pub(super) struct BatchOutcome {
    pub(super) answered: Vec<AnsweredCall>,
    pub(super) traces: Vec<CallTrace>,
    /// The lines that the results show: file, first and last line.
    pub(super) shown: Vec<(RelPath, u32, u32)>,
    /// The citations of child explorations.
    pub(super) cited: Vec<super::Citation>,
    /// Whether every call of the turn is a repetition. Also `true` if there are no calls.
    pub(super) all_repeated: bool,
}

struct CallOutcome {
    output: Arc<Output>,
    repeated: bool,
    ms: f64,
    child: Option<super::ExploreOutcome>,
}

/// A call that runs together with other calls of the same tool.
struct GroupedCall<'c> {
    /// The position of the call in the turn.
    at: usize,
    key: String,
    arguments: &'c Map<String, Value>,
}

type Job<'j> = Box<dyn FnOnce() -> Vec<(usize, CallOutcome)> + Send + 'j>;

impl Explorer<'_> {
    /// Makes the calls of a turn. `before` contains the keys of the earlier calls of this exploration. `bytes` is the
    /// page size of each result.
    pub(super) async fn make(
        &self,
        task: &ExplorationTask<'_>,
        budget: &Budget,
        calls: Vec<ParsedCall>,
        before: &mut HashSet<String>,
        bytes: usize,
    ) -> BatchOutcome {
        let context = self.context(task, budget);
        let mut done: Vec<Option<CallOutcome>> = calls.iter().map(|_| None).collect();
        let mut jobs: VecDeque<Job<'_>> = VecDeque::new();
        let mut children = Vec::new();
        let mut groups: Vec<(&str, Vec<GroupedCall<'_>>)> = Vec::new();
        let opened = calls.iter().filter(|call| call.name == EXPLORE).count();
        let siblings = u32::try_from(opened).unwrap_or(u32::MAX);
        for (at, call) in calls.iter().enumerate() {
            let (tool, arguments) = (&*call.name, &call.arguments);
            let key = call_cache::key(task.scope, tool, arguments);
            // Another page of the same result is not a repetition.
            if !before.insert(format!("{key}#{}", tools::page(arguments))) {
                done[at] = Some(CallOutcome::repeated("[the same call was made before; its result stands above]"));
            } else if !self.cache.has(&key) && !budget.take_call() {
                done[at] = Some(CallOutcome::failed("no calls are left: call `final` with what you have seen"));
            } else if tool == EXPLORE {
                children.push(self.child(at, task, budget, siblings, arguments));
            } else if self.registry.shares_work(tool) && !self.cache.has(&key) {
                let grouped = GroupedCall { at, key, arguments };
                match groups.iter_mut().find(|(name, _)| *name == tool) {
                    Some((_, calls)) => calls.push(grouped),
                    None => groups.push((tool, vec![grouped])),
                }
            } else {
                let context = &context;
                jobs.push_back(Box::new(move || vec![(at, self.run_one(tool, arguments, context))]));
            }
            self.inputs.observer.calls(tool, &short(arguments));
        }
        for (tool, calls) in groups {
            let context = &context;
            jobs.push_front(Box::new(move || self.run_group(tool, calls, context)));
        }
        for (at, one) in run(jobs) {
            done[at] = Some(one);
        }
        let mut opened = stream::iter(children).buffer_unordered(AT_ONCE);
        while let Some((at, one)) = opened.next().await {
            done[at] = Some(one);
        }
        drop(opened);
        outcome(calls, done, bytes)
    }

    /// Makes one call, or takes its result from the cache.
    fn run_one(&self, tool: &str, arguments: &Map<String, Value>, context: &ToolContext<'_>) -> CallOutcome {
        let started = Instant::now();
        let key = call_cache::key(context.scope, tool, arguments);
        let make = || self.registry.run(tool, arguments, context);
        let (output, repeated) = self.cache.get(&key, make);
        CallOutcome { output, repeated, ms: millis(started.elapsed()), child: None }
    }

    /// Makes the calls of one tool together.
    fn run_group(
        &self,
        tool: &str,
        calls: Vec<GroupedCall<'_>>,
        context: &ToolContext<'_>,
    ) -> Vec<(usize, CallOutcome)> {
        let started = Instant::now();
        let arguments: Vec<_> = calls.iter().map(|call| call.arguments).collect();
        let outputs = self.registry.run_all(tool, &arguments, context);
        let ms = millis(started.elapsed());
        let done = calls.into_iter().zip(outputs).map(|(call, output)| {
            let output = Arc::new(output);
            self.cache.put(&call.key, Arc::clone(&output));
            let done = CallOutcome { output, repeated: false, ms, child: None };
            (call.at, done)
        });
        done.collect()
    }

    /// Runs a child exploration for the call at position `at`. The future is boxed, because explorations nest.
    fn child<'c>(
        &'c self,
        at: usize,
        task: &'c ExplorationTask<'c>,
        budget: &'c Budget,
        siblings: u32,
        arguments: &'c Map<String, Value>,
    ) -> BoxFuture<'c, (usize, CallOutcome)> {
        let child = async move { (at, self.run_child(task, budget, siblings, arguments).await) };
        child.boxed()
    }

    async fn run_child(
        &self,
        task: &ExplorationTask<'_>,
        budget: &Budget,
        siblings: u32,
        call: &Map<String, Value>,
    ) -> CallOutcome {
        let started = Instant::now();
        let opened = self.open_child(task, budget, siblings, call).await;
        let mut done = match opened {
            Ok(found) => {
                let mut text = String::new();
                if let Some(answer) = &found.trace.answer {
                    text.push_str(&format!("{answer}\n"));
                }
                for citation in &found.citations {
                    text.push_str(&format!("{citation}\n"));
                }
                if text.is_empty() {
                    text.push_str("nothing was found");
                }
                let output = Output {
                    summary: format!("{} places", found.citations.len()),
                    text: redact(text.trim_end()).into_owned(),
                    ..Output::default()
                };
                CallOutcome { output: Arc::new(output), repeated: false, ms: 0.0, child: Some(found) }
            }
            Err(error) => CallOutcome::failed(error.to_string()),
        };
        done.ms = millis(started.elapsed());
        done
    }
}

impl CallOutcome {
    fn failed(reason: impl Into<String>) -> Self {
        Self { output: Arc::new(Output::failed(reason)), repeated: false, ms: 0.0, child: None }
    }

    fn repeated(words: &str) -> Self {
        Self { output: Arc::new(Output::from_text(words)), repeated: true, ms: 0.0, child: None }
    }
}

/// Runs jobs on up to [`AT_ONCE`] threads, and returns the results when all are done.
fn run(jobs: VecDeque<Job<'_>>) -> Vec<(usize, CallOutcome)> {
    let threads = jobs.len().min(AT_ONCE);
    let (jobs, done) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let job = jobs.lock().pop_front();
            let Some(job) = job else { return };
            let results = job();
            done.lock().extend(results);
        }
    };
    if threads <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
    }
    done.into_inner()
}

/// Collects the outcomes of all calls.
fn outcome(calls: Vec<ParsedCall>, done: Vec<Option<CallOutcome>>, bytes: usize) -> BatchOutcome {
    let mut batch = BatchOutcome { all_repeated: true, ..BatchOutcome::default() };
    for (call, done) in calls.into_iter().zip(done) {
        let done = done.unwrap_or_else(|| CallOutcome::failed("it was not made"));
        let text = done.output.neutral_page(tools::page(&call.arguments), bytes, Ground::Code);
        batch.all_repeated &= done.repeated;
        batch.shown.extend(done.output.shown.iter().cloned());
        let child = done.child.map(|found| {
            batch.cited.extend(found.citations);
            Box::new(found.trace)
        });
        batch.traces.push(CallTrace {
            tool: call.name.clone(),
            arguments: redact(&short(&call.arguments)).into_owned(),
            returned: redact(&shortened(&done.output.summary)).into_owned(),
            bytes: text.len(),
            ms: done.ms,
            repeated: done.repeated,
            failed: done.output.failed,
            child,
        });
        batch.answered.push(AnsweredCall { call, text, failed: done.output.failed });
    }
    batch
}

fn shortened(summary: &str) -> String {
    let line = summary.lines().next().unwrap_or_default();
    line[..line.floor_char_boundary(160)].to_owned()
}
