//! The share of useful places in the gateway's packs, for prompts that were graded by reading the code.
//!
//! Each prompt is sent through the gateway over its repository at its commit, in sessions of its own: once as a client
//! with file tools, which gets a map, and once as a client without tools, which gets code. The receipt names what was
//! packed, and the request that the backend got contains it. The earlier turns of a follow-up are sent first, so that
//! the gateway replays their blocks.

mod graded;
mod prompts;
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use muninn_context_engine::render::OPEN;
use serde_json::Value;

use self::graded::GradedPack;
use self::prompts::Prompt;
use self::report::{GradedPrompt, Report};
use crate::gateway::home;
use crate::graded::trees::{Trees, clone_of};
use crate::graded::turns::{Client, Role, Stage};
use crate::harness::{json_lines, progress};

/// Measures the share of useful places in packs for graded prompts.
#[derive(Debug, Clone, Parser)]
#[command(name = "packs")]
pub(crate) struct Options {
    /// Graded prompts, one JSON object a line.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    prompts: Vec<PathBuf>,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// Keep trees here from run to run.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Write one JSON object for each prompt: its items, and whether they are useful.
    #[arg(long, value_name = "FILE")]
    per_prompt: Option<PathBuf>,
    /// Only prompts whose id contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Report the figures of each file of prompts, too.
    #[arg(long)]
    split: bool,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let prompts = prompts::read(&options.prompts, options.only.as_deref())?;
    let trees = Trees::new(options.work.as_deref())?;
    let mut by_tree: BTreeMap<(&str, &str), Vec<&Prompt>> = BTreeMap::new();
    for prompt in &prompts {
        by_tree.entry((&prompt.repo, &prompt.commit)).or_default().push(prompt);
    }
    let mut staged = Vec::new();
    for ((repo, commit), prompts) in by_tree {
        let tree = trees.checkout(&clone_of(&options.repos, repo), repo, commit, None);
        let tree = tree.with_context(|| prompts[0].id.clone())?;
        prompts.iter().try_for_each(|prompt| prompt.check_places(&tree.root))?;
        staged.push((tree, prompts));
    }
    let mut graded = Vec::new();
    for (tree, prompts) in &staged {
        // A conversation must not learn from the conversations before it.
        let stage = Stage::start(home(), &tree.root, "[memory]\nwrite = \"off\"\n");
        for prompt in prompts {
            let pack = |client| {
                let session = format!("{client:?}-{}", graded.len());
                converse(&stage, client, &session, prompt).with_context(|| prompt.id.clone())
            };
            let (with_tools, without_tools) = (pack(Client::WithTools)?, pack(Client::WithoutTools)?);
            for (name, pack) in [("map", &with_tools), ("code", &without_tools)] {
                let useful = pack.items.iter().filter(|item| item.useful_file).count();
                let (items, found, missed) = (pack.items.len(), pack.found.len(), pack.missed.len());
                progress(&format!(
                    "{}: {name} {} tokens, {useful}/{items} items useful, {found} files found, {missed} missed",
                    prompt.id, pack.tokens
                ));
            }
            graded.push(GradedPrompt {
                id: prompt.id.clone(),
                kind: prompt.kind,
                file: prompt.file.clone(),
                useful_lines: prompt.useful.lines(),
                with_tools,
                without_tools,
            });
        }
    }
    json_lines::write(options.per_prompt.as_deref(), &graded)?;
    Ok(Report::of(&graded, options.split))
}

/// Sends each turn of a conversation, and grades the pack of the newest turn.
fn converse(stage: &Stage, client: Client, session: &str, prompt: &Prompt) -> Result<GradedPack> {
    let messages = prompt.messages();
    let ends = (1..=messages.len()).filter(|end| messages[end - 1].role == Role::User);
    let receipts = ends.map(|end| stage.send(client, session, &messages[..end])).collect::<Result<Vec<_>>>()?;
    let (newest, earlier) = receipts.split_last().context("no turn")?;
    let sent = stage.backend.take_requests();
    let request = sent.iter().rfind(|request| request.method == "POST").context("the backend got no request")?;
    let body: Value = serde_json::from_slice(&request.body)?;
    let text = body["messages"][messages.len() - 1]["content"].as_str();
    let added = text.and_then(|text| text.strip_prefix(&*prompt.prompt)).context("the prompt was changed")?;
    let block = added.find(OPEN).map(|at| &added[at..]);
    ensure!(block.is_some() || added.is_empty(), "text without a fence was added");
    GradedPack::of(newest, block, earlier, &prompt.useful)
}
