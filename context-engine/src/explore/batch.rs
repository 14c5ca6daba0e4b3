//! The calls of one turn: the tools on threads beside each other, and then the explorations below this one, which mostly
//! wait for their models, together.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::Value;

use super::budget::Budget;
use super::dialect::ParsedCall;
use super::talk::Told;
use super::tools::{self, Arguments, Caller, Greps, Output};
use super::trace::CallTrace;
use super::{Explorer, Task, millis};
use crate::render::neutralize;
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
    child: Option<super::Found>,
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
        let asked: Vec<(ParsedCall, Arguments)> = calls
            .into_iter()
            .map(|call| {
                let arguments = Arguments(call.arguments.clone());
                (call, arguments)
            })
            .collect();
        let caller = Caller {
            scope: task.scope,
            until: budget.until().clone(),
        };
        let mut done: Vec<Option<Done>> = asked.iter().map(|_| None).collect();
        let mut jobs: VecDeque<Job<'_>> = VecDeque::new();
        let mut children = Vec::new();
        let (mut greps, mut searching) = (Greps::default(), Vec::new());
        let opened = asked.iter().filter(|(call, _)| call.name == tools::EXPLORE).count();
        let siblings = u32::try_from(opened).unwrap_or(u32::MAX);
        for (at, (call, arguments)) in asked.iter().enumerate() {
            let key = caller.key(&call.name, arguments);
            // Another page of a result is no repetition.
            if !before.insert(format!("{key}#{}", arguments.page())) {
                done[at] = Some(Done::repeated(
                    "[the same call was made before; its result stands above]",
                ));
            } else if !self.memo.has(&key) && !budget.take_call() {
                done[at] = Some(Done::failed("no calls are left: call `final` with what you have seen"));
            } else if call.name == tools::EXPLORE {
                children.push(self.child(at, task, budget, siblings, arguments));
            } else if call.name == "grep" && !self.memo.has(&key) {
                match greps.add(self.tools, arguments, &caller) {
                    Ok(()) => searching.push((at, key)),
                    Err(reason) => done[at] = Some(Done::failed(reason)),
                }
            } else {
                let caller = &caller;
                jobs.push_back(Box::new(move || vec![(at, self.one(&call.name, arguments, caller))]));
            }
            self.observer.calls(&call.name, &arguments.short());
        }
        if !searching.is_empty() {
            let caller = &caller;
            jobs.push_front(Box::new(move || self.search(greps, searching, caller)));
        }
        for (at, one) in run(jobs) {
            done[at] = Some(one);
        }
        let mut opened = stream::iter(children).buffer_unordered(AT_ONCE);
        while let Some((at, one)) = opened.next().await {
            done[at] = Some(one);
        }
        drop(opened);
        told(asked, done, bytes)
    }

    /// One call, unless it was made before.
    fn one(&self, tool: &str, arguments: &Arguments, caller: &Caller<'_>) -> Done {
        let started = Instant::now();
        let key = caller.key(tool, arguments);
        let (output, repeated) = self.memo.get(&key, || self.tools.run(tool, arguments, caller));
        Done {
            output,
            repeated,
            ms: millis(started.elapsed()),
            child: None,
        }
    }

    /// All searches of a turn, which read each file once.
    fn search(&self, greps: Greps, searching: Vec<(usize, String)>, caller: &Caller<'_>) -> Vec<(usize, Done)> {
        let started = Instant::now();
        let found = greps.run(self.tools, caller);
        let ms = millis(started.elapsed());
        let results = searching.into_iter().zip(found);
        results
            .map(|((at, key), found)| {
                let output = found.unwrap_or_else(Output::failed);
                self.memo.put(&key, output.clone());
                let output = Arc::new(output);
                let done = Done {
                    output,
                    repeated: false,
                    ms,
                    child: None,
                };
                (at, done)
            })
            .collect()
    }

    /// Opens an exploration below this one, for the call of this number. Boxed, because explorations nest.
    fn child<'c>(
        &'c self,
        at: usize,
        task: &'c Task<'c>,
        budget: &'c Budget,
        siblings: u32,
        arguments: &'c Arguments,
    ) -> BoxFuture<'c, (usize, Done)> {
        let child = async move { (at, self.explored(task, budget, siblings, arguments).await) };
        child.boxed()
    }

    async fn explored(&self, task: &Task<'_>, budget: &Budget, siblings: u32, arguments: &Arguments) -> Done {
        let started = Instant::now();
        let opened = self.open_child(task, budget, siblings, arguments).await;
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

fn told(asked: Vec<(ParsedCall, Arguments)>, done: Vec<Option<Done>>, bytes: usize) -> Made {
    let mut made = Made {
        all_repeated: true,
        ..Made::default()
    };
    for ((call, arguments), done) in asked.into_iter().zip(done) {
        let done = done.unwrap_or_else(|| Done::failed("it was not made"));
        let text = neutralize(&done.output.page(arguments.page(), bytes)).into_owned();
        made.all_repeated &= done.repeated;
        made.shown.extend(done.output.shown.iter().cloned());
        let child = done.child.map(|found| {
            made.cited.extend(found.citations);
            Box::new(found.trace)
        });
        made.traces.push(CallTrace {
            tool: call.name.clone(),
            arguments: redact(&arguments.short()).into_owned(),
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

/// What a child is to find out; its call has to say it.
pub(super) fn question_of(arguments: &Arguments) -> Option<&str> {
    let value = ["question", "query", "task", "prompt"]
        .iter()
        .find_map(|name| arguments.0.get(*name));
    value
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
}
