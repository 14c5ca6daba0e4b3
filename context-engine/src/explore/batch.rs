//! The calls of one turn: the tools on threads beside each other, and then the explorations below this one, which mostly
//! wait for their models, together.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Map, Value};

use super::budget::Budget;
use super::dialect::ParsedCall;
use super::offer::EXPLORE;
use super::talk::Told;
use super::trace::{CallTrace, short};
use super::{Explorer, Task, memo, millis};
use crate::render::neutralize;
use crate::tools::{self, Output, ToolContext};
use muninn_memory::redact;
use muninn_repo_tools::RelPath;

/// Calls, and explorations below, that run at the same time.
const AT_ONCE: usize = 8;

/// What a turn's calls came to.
#[derive(Default)]
pub(super) struct Made {
    pub(super) told: Vec<Told>,
    pub(super) traces: Vec<CallTrace>,
    /// What was shown: files and lines.
    pub(super) shown: Vec<(RelPath, u32, u32)>,
    /// What children cite.
    pub(super) cited: Vec<super::Citation>,
    /// Whether all of them had been made before; also where there were none.
    pub(super) all_repeated: bool,
}

/// A call that was made, and how.
struct Done {
    output: Arc<Output>,
    repeated: bool,
    ms: f64,
    child: Option<super::ExploreOutcome>,
}

/// A call that shares its work with others.
struct Shared<'c> {
    /// Its number in the turn.
    at: usize,
    key: String,
    arguments: &'c Map<String, Value>,
}

type Job<'j> = Box<dyn FnOnce() -> Vec<(usize, Done)> + Send + 'j>;

impl Explorer<'_> {
    /// Makes the calls of a turn. `before` holds what this exploration has called so far; `bytes` is how much of each
    /// result is shown.
    pub(super) async fn make(
        &self,
        task: &Task<'_>,
        budget: &Budget,
        calls: Vec<ParsedCall>,
        before: &mut HashSet<String>,
        bytes: usize,
    ) -> Made {
        let context = self.context(task, budget);
        let mut done: Vec<Option<Done>> = calls.iter().map(|_| None).collect();
        let mut jobs: VecDeque<Job<'_>> = VecDeque::new();
        let mut children = Vec::new();
        let mut together: Vec<(&str, Vec<Shared<'_>>)> = Vec::new();
        let opened = calls.iter().filter(|call| call.name == EXPLORE).count();
        let siblings = u32::try_from(opened).unwrap_or(u32::MAX);
        for (at, call) in calls.iter().enumerate() {
            let (tool, arguments) = (&*call.name, &call.arguments);
            let key = memo::key(task.scope, tool, arguments);
            // Another page of a result is no repetition.
            if !before.insert(format!("{key}#{}", tools::page(arguments))) {
                done[at] = Some(Done::repeated(
                    "[the same call was made before; its result stands above]",
                ));
            } else if !self.memo.has(&key) && !budget.take_call() {
                done[at] = Some(Done::failed("no calls are left: call `final` with what you have seen"));
            } else if tool == EXPLORE {
                children.push(self.child(at, task, budget, siblings, arguments));
            } else if self.registry.shares_work(tool) && !self.memo.has(&key) {
                let shared = Shared { at, key, arguments };
                match together.iter_mut().find(|(name, _)| *name == tool) {
                    Some((_, calls)) => calls.push(shared),
                    None => together.push((tool, vec![shared])),
                }
            } else {
                let context = &context;
                jobs.push_back(Box::new(move || vec![(at, self.one(tool, arguments, context))]));
            }
            self.sources.observer.calls(tool, &short(arguments));
        }
        for (tool, calls) in together {
            let context = &context;
            jobs.push_front(Box::new(move || self.shared(tool, calls, context)));
        }
        for (at, one) in run(jobs) {
            done[at] = Some(one);
        }
        let mut opened = stream::iter(children).buffer_unordered(AT_ONCE);
        while let Some((at, one)) = opened.next().await {
            done[at] = Some(one);
        }
        drop(opened);
        told(calls, done, bytes)
    }

    /// One call, unless it was made before.
    fn one(&self, tool: &str, arguments: &Map<String, Value>, context: &ToolContext<'_>) -> Done {
        let started = Instant::now();
        let key = memo::key(context.scope, tool, arguments);
        let make = || self.registry.run(tool, arguments, context);
        let (output, repeated) = self.memo.get(&key, make);
        Done {
            output,
            repeated,
            ms: millis(started.elapsed()),
            child: None,
        }
    }

    /// All calls of a turn that share work.
    fn shared(&self, tool: &str, calls: Vec<Shared<'_>>, context: &ToolContext<'_>) -> Vec<(usize, Done)> {
        let started = Instant::now();
        let arguments: Vec<_> = calls.iter().map(|call| call.arguments).collect();
        let outputs = self.registry.run_all(tool, &arguments, context);
        let ms = millis(started.elapsed());
        let done = calls.into_iter().zip(outputs).map(|(call, output)| {
            let output = Arc::new(output);
            self.memo.put(&call.key, Arc::clone(&output));
            let done = Done {
                output,
                repeated: false,
                ms,
                child: None,
            };
            (call.at, done)
        });
        done.collect()
    }

    /// Opens an exploration below this one, for the call of this number. Boxed, because explorations nest.
    fn child<'c>(
        &'c self,
        at: usize,
        task: &'c Task<'c>,
        budget: &'c Budget,
        siblings: u32,
        arguments: &'c Map<String, Value>,
    ) -> BoxFuture<'c, (usize, Done)> {
        let child = async move { (at, self.explored(task, budget, siblings, arguments).await) };
        child.boxed()
    }

    async fn explored(&self, task: &Task<'_>, budget: &Budget, siblings: u32, call: &Map<String, Value>) -> Done {
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
                Done {
                    output: Arc::new(output),
                    repeated: false,
                    ms: 0.0,
                    child: Some(found),
                }
            }
            Err(error) => Done::failed(error.to_string()),
        };
        done.ms = millis(started.elapsed());
        done
    }
}

impl Done {
    fn failed(reason: impl Into<String>) -> Self {
        Self {
            output: Arc::new(Output::failed(reason)),
            repeated: false,
            ms: 0.0,
            child: None,
        }
    }

    fn repeated(words: &str) -> Self {
        Self {
            output: Arc::new(Output::of(words)),
            repeated: true,
            ms: 0.0,
            child: None,
        }
    }
}

/// Runs jobs on as many threads as may run at once, and returns when all are done.
fn run(jobs: VecDeque<Job<'_>>) -> Vec<(usize, Done)> {
    let threads = jobs.len().min(AT_ONCE);
    let (jobs, done) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(job) = job else { return };
            let results = job();
            done.lock().unwrap_or_else(PoisonError::into_inner).extend(results);
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
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn told(calls: Vec<ParsedCall>, done: Vec<Option<Done>>, bytes: usize) -> Made {
    let mut made = Made {
        all_repeated: true,
        ..Made::default()
    };
    for (call, done) in calls.into_iter().zip(done) {
        let done = done.unwrap_or_else(|| Done::failed("it was not made"));
        let text = neutralize(&done.output.page(tools::page(&call.arguments), bytes)).into_owned();
        made.all_repeated &= done.repeated;
        made.shown.extend(done.output.shown.iter().cloned());
        let child = done.child.map(|found| {
            made.cited.extend(found.citations);
            Box::new(found.trace)
        });
        made.traces.push(CallTrace {
            tool: call.name.clone(),
            arguments: redact(&short(&call.arguments)).into_owned(),
            returned: redact(&shortened(&done.output.summary)).into_owned(),
            bytes: text.len(),
            ms: done.ms,
            repeated: done.repeated,
            failed: done.output.failed,
            child,
        });
        made.told.push(Told {
            call,
            text,
            failed: done.output.failed,
        });
    }
    made
}

fn shortened(summary: &str) -> String {
    let line = summary.lines().next().unwrap_or_default();
    line[..line.floor_char_boundary(160)].to_owned()
}
