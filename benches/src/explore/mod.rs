//! The deep lane with scripted explorers at the socket, or with a real model.
//!
//! A scripted server on loopback stands for the model, and the engine explores through the gateway's model client.
//! [`localized`] runs [`policies`] on instances with known answers: the best possible result, and that no explorer
//! loses a file of the lexical lane. [`overhead`] measures the cost of a turn beside the model on a large tree.
//! [`hostile`] shows that hostile scripts end, leak nothing and leave nothing running.

mod hostile;
mod localized;
mod overhead;
mod policies;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use muninn_backend::BlockingClient;
use muninn_context_engine::explore::{DeepLimits, ExploreOutcome, Trace};
use serde::Serialize;

use self::policies::PolicyName;
use crate::graded::embedder::EmbedderName;
use crate::graded::subject::Subject;
use crate::harness::stats::millis;
use crate::model::server::{Exchange, ModelServer};
use crate::model::{Policy, blocking_client, remote};

/// Explores with scripted models at the socket, or with a real one.
///
/// Progress goes to stderr; stdout has a line of JSON for each explorer or case, and last one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "explore")]
pub(crate) struct Options {
    /// Questions with the files that answer them, one JSON object a line.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["overhead", "hostile"], requires = "repos")]
    instances: Option<PathBuf>,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// Explore with these policies only.
    #[arg(long, value_name = "NAMES", value_enum, value_delimiter = ',')]
    policy: Vec<PolicyName>,
    /// Explore with the model of this server, which speaks chat completions, instead of scripts.
    #[arg(long, value_name = "URL", requires = "instances", conflicts_with = "policy")]
    backend: Option<String>,
    /// The name of --backend's model.
    #[arg(long, value_name = "NAME", default_value = "default")]
    backend_model: String,
    /// The longest answer of --backend, in tokens.
    #[arg(long, value_name = "NUMBER", default_value_t = 256)]
    answer_tokens: u32,
    /// Keep trees and their indexes here from run to run.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// The embedder of the lexical lane.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = EmbedderName::Static)]
    embedder: EmbedderName,
    /// The directory of minilm's files.
    #[arg(long, value_name = "DIR", required_if_eq("embedder", "minilm"))]
    model: Option<PathBuf>,
    /// Only instances whose id or repository contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Measure what a turn costs beside its model.
    #[arg(long, requires = "root", conflicts_with = "instances")]
    overhead: bool,
    /// The repository for --overhead. Nothing is written into it.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Rounds of --overhead, of which medians are taken.
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    rounds: usize,
    /// Explore with hostile scripts.
    #[arg(long, conflicts_with_all = ["instances", "overhead"])]
    hostile: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Report {
    Localized(localized::Report),
    Overhead(overhead::Report),
    Hostile(hostile::Report),
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    match (&options.root, &options.instances, &options.repos) {
        (Some(root), ..) if options.overhead => overhead::run(options, root).map(Report::Overhead),
        (_, Some(instances), Some(repos)) => localized::run(options, instances, repos).map(Report::Localized),
        _ => hostile::run().map(Report::Hostile),
    }
}

/// A scripted server, and the client that asks it.
struct Stage {
    server: ModelServer,
    client: BlockingClient,
}

/// A finished exploration.
struct Explored {
    found: ExploreOutcome,
    started: Instant,
    ended: Instant,
}

impl Stage {
    /// See [`ModelServer::start`].
    fn start(forbidden: Vec<String>, closes: bool) -> Result<Self> {
        Ok(Self { server: ModelServer::start(forbidden, closes), client: blocking_client()? })
    }

    fn explore(&self, subject: &Subject, question: &str, limits: &DeepLimits, policy: Policy) -> Explored {
        self.server.play(policy);
        self.explore_with(subject, question, limits, self.server.url(), "scripted")
    }

    fn explore_with(
        &self,
        subject: &Subject,
        question: &str,
        limits: &DeepLimits,
        url: String,
        name: &str,
    ) -> Explored {
        let model = remote(&self.client, url, name);
        let started = Instant::now();
        let found = subject.engine.explore_deep(question, limits, &model, &());
        Explored { found, started, ended: Instant::now() }
    }

    fn timing(&self, explored: &Explored) -> Option<Timing> {
        Timing::of(explored.started, explored.ended, &self.server.log().exchanges, &explored.found.trace)
    }
}

/// Milliseconds of one exploration.
#[derive(Debug, Clone, Default, PartialEq)]
struct Timing {
    /// From the beginning until the first request is at the model: lexical lane, tree, first message.
    opening: f64,
    /// For each turn, from the model's answer to the next request, or to the end, without the time of its tools.
    beside: Vec<f64>,
    /// For each turn, the same with its tools.
    with_tools: Vec<f64>,
}

impl Timing {
    /// Times as the server saw them. `None` if turns and requests do not match one to one: a request was retried, or
    /// explorations ran beside each other.
    fn of(started: Instant, ended: Instant, exchanges: &[Exchange], trace: &Trace) -> Option<Self> {
        let first = exchanges.first()?;
        if exchanges.len() != trace.turns.len() || trace.totals().explorations > 1 {
            return None;
        }
        let nexts = exchanges.iter().skip(1).map(|exchange| exchange.asked).chain([ended]);
        let mut timing = Self { opening: millis(first.asked.saturating_duration_since(started)), ..Self::default() };
        for ((exchange, next), turn) in exchanges.iter().zip(nexts).zip(&trace.turns) {
            let with_tools = millis(next.saturating_duration_since(exchange.answered));
            timing.with_tools.push(with_tools);
            timing.beside.push((with_tools - turn.tools_ms).max(0.0));
        }
        Some(timing)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use muninn_context_engine::explore::TurnTrace;

    use super::*;

    #[test]
    fn turn_ends_at_the_next_request() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let exchange = |asked, answered| Exchange { asked: at(asked), answered: at(answered) };
        let turn = |tools_ms| TurnTrace { tools_ms, ..TurnTrace::default() };
        let trace = Trace { turns: vec![turn(7.0), turn(0.0)], ..Trace::default() };
        let timing = Timing::of(start, at(201), &[exchange(20, 120), exchange(130, 200)], &trace).unwrap();
        assert_eq!((timing.opening, timing.beside, timing.with_tools), (20.0, vec![3.0, 1.0], vec![10.0, 1.0]));
        assert_eq!(Timing::of(start, at(201), &[exchange(20, 120)], &trace), None);
    }
}
