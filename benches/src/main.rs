//! `bench`: the benchmarks. See `benches/README.md`.

mod abstain;
mod admit;
mod background;
mod conversion;
mod decisions;
mod explore;
mod gateway;
mod graded;
mod harness;
mod hooks;
mod load;
mod localization;
mod model;
mod overhead;
mod packs;
mod pairs;
mod past_sessions;
mod recall;
mod reconcile_scale;
mod relevance;
mod scale;
mod soak;
mod streams;
mod value;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::harness::{child, exit};

/// Measures Muninn.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Parser)]
#[command(name = "bench")]
enum Bench {
    Abstain(abstain::Options),
    Admit(admit::Options),
    Background(background::Options),
    Conversion(conversion::Options),
    Decisions(decisions::Options),
    Explore(explore::Options),
    Hooks(hooks::Options),
    Localization(localization::Options),
    Overhead(overhead::Options),
    Packs(packs::Options),
    Pairs(pairs::Options),
    PastSessions(past_sessions::Options),
    Recall(recall::Options),
    ReconcileScale(reconcile_scale::Options),
    Relevance(relevance::Options),
    Scale(scale::Options),
    Soak(soak::Options),
    Streams(streams::Options),
    Value(value::Options),
    #[command(name = scale::PHASE, hide = true)]
    ScalePhase {
        task: PathBuf,
    },
    #[command(name = reconcile_scale::PHASE, hide = true)]
    ReconcilePhase {
        task: PathBuf,
    },
}

fn main() -> ExitCode {
    let started = Instant::now();
    if let Some(code) = gateway::requested() {
        return code;
    }
    match Bench::parse() {
        Bench::Abstain(options) => exit("abstain", abstain::run(&options)),
        Bench::Admit(options) => exit("admit", admit::run(&options)),
        Bench::Background(options) => exit("background", background::run(&options)),
        Bench::Conversion(options) => exit("conversion", conversion::run(&options)),
        Bench::Decisions(options) => exit("decisions", decisions::run(&options)),
        Bench::Explore(options) => exit("explore", explore::run(&options)),
        Bench::Hooks(options) => exit("hooks", hooks::run(&options)),
        Bench::Localization(options) => exit("localization", localization::run(&options)),
        Bench::Overhead(options) => exit("overhead", overhead::run(&options)),
        Bench::Packs(options) => exit("packs", packs::run(&options)),
        Bench::Pairs(options) => exit("pairs", pairs::run(&options)),
        Bench::PastSessions(options) => exit("past-sessions", past_sessions::run(&options)),
        Bench::Recall(options) => exit("recall", recall::run(&options)),
        Bench::ReconcileScale(options) => exit("reconcile-scale", reconcile_scale::run(&options)),
        Bench::Relevance(options) => exit("relevance", relevance::run(&options)),
        Bench::Scale(options) => exit("scale", scale::run(&options)),
        Bench::Soak(options) => exit("soak", soak::run(&options)),
        Bench::Streams(options) => exit("streams", streams::run(&options)),
        Bench::Value(options) => exit("value", value::run(&options)),
        Bench::ScalePhase { task } => {
            exit(scale::PHASE, child::task(&task).and_then(|task: scale::Task| task.perform(started)))
        }
        Bench::ReconcilePhase { task } => exit(
            reconcile_scale::PHASE,
            child::task(&task).and_then(|task: reconcile_scale::Task| task.perform(started)),
        ),
    }
}
