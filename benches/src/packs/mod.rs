//! The share of useful places in the gateway's packs, for prompts that were graded by reading the code.
//!
//! Each prompt is sent through the gateway over its repository at its commit, in sessions of its own: once as a client
//! with file tools, which gets a map, and once as a client without tools, which gets code. The receipt says what was
//! packed, and the request that the backend got contains it. The earlier turns of a follow-up are sent first, so that
//! the gateway replays their blocks.

mod graded;
mod prompts;
mod report;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use muninn_context_engine::render::OPEN;
use muninn_tests::{Gateway, TestEnv, Upstream};
use serde_json::Value;

pub use self::graded::{GradedItem, GradedPack};
pub use self::prompts::{Kind, Prompt, Useful};
pub use self::report::{Admission, CodeFigures, Entries, Figures, GradedPrompt, MapFigures, Report};

use crate::command_line::{at, progress};
use crate::gateway_process::{home, serve, wait_until_settled};
use crate::trees::{Tree, Trees, clone_of};
use crate::turns::{Client, Role, send};

/// Measures the share of useful places in packs for graded prompts.
///
/// Progress goes to stderr; the last line on stdout is one JSON object.
#[derive(Debug, Clone, Parser)]
#[command(name = "packs")]
pub struct Options {
    /// Graded prompts, one JSON object a line.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub prompts: Vec<PathBuf>,
    /// The directory of the clones: OWNER+NAME/repo, bare or not.
    #[arg(long, value_name = "DIR")]
    pub repos: PathBuf,
    /// Keep trees here from run to run.
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Write one JSON object for each prompt: its items, and whether they are useful.
    #[arg(long, value_name = "FILE")]
    pub per_prompt: Option<PathBuf>,
    /// Only prompts whose id contains this.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Report the figures of each file of prompts, too.
    #[arg(long)]
    pub split: bool,
}

/// Runs the benchmark.
///
/// # Errors
/// When a file cannot be read or written, a tree cannot be checked out, or a prompt names places that do not exist.
pub fn run(options: &Options) -> Result<Report> {
    let prompts = prompts::read(&options.prompts, options.only.as_deref())?;
    let trees = Trees::new(options.work.as_deref())?;
    let mut by_tree: BTreeMap<(&str, &str), Vec<&Prompt>> = BTreeMap::new();
    for prompt in &prompts {
        by_tree.entry((&prompt.repo, &prompt.commit)).or_default().push(prompt);
    }
    let mut stages = Vec::new();
    for ((repo, commit), prompts) in by_tree {
        let tree = trees
            .checkout(&clone_of(&options.repos, repo), repo, commit, None)
            .with_context(|| prompts[0].id.clone())?;
        prompts.iter().try_for_each(|prompt| prompt.check_places(&tree.root))?;
        stages.push((tree, prompts));
    }
    let mut graded = Vec::new();
    for (tree, prompts) in &stages {
        let stage = Stage::of(tree);
        for prompt in prompts {
            let one = stage.grade(prompt, graded.len()).with_context(|| prompt.id.clone())?;
            progress(&line(&one));
            graded.push(one);
        }
    }
    if let Some(path) = &options.per_prompt {
        let mut file = std::fs::File::create(path).with_context(at(path))?;
        for one in &graded {
            writeln!(file, "{}", serde_json::to_string(one)?)?;
        }
    }
    Ok(Report::of(&graded, options.split))
}

/// A line of progress.
fn line(one: &GradedPrompt) -> String {
    let packs = [("map", &one.with_tools), ("code", &one.without_tools)];
    let packs = packs.map(|(name, pack)| {
        let useful = pack.items.iter().filter(|item| item.useful_file).count();
        let (items, found, files) = (pack.items.len(), pack.found.len(), pack.found.len() + pack.missed.len());
        format!("{name} {} tokens, {useful}/{items} items useful, {found}/{files} files", pack.tokens)
    });
    format!("{}: {}", one.id, packs.join("; "))
}

/// A gateway over a tree.
struct Stage {
    gateway: Gateway,
    home: TestEnv,
    upstream: Upstream,
}

impl Stage {
    fn of(tree: &Tree) -> Self {
        let home = home();
        let upstream = Upstream::start();
        // A conversation must not learn from the conversations before it.
        home.connect_with(&upstream, "[memory]\nwrite = \"off\"\n");
        let gateway = serve(&home, &tree.root);
        wait_until_settled(&gateway);
        Self { gateway, home, upstream }
    }

    /// Sends a prompt as both clients, and grades their packs.
    fn grade(&self, prompt: &Prompt, number: usize) -> Result<GradedPrompt> {
        let pack = |client| self.converse(client, &format!("{client:?}-{number}"), prompt);
        Ok(GradedPrompt {
            id: prompt.id.clone(),
            kind: prompt.kind,
            file: prompt.file.clone(),
            useful_lines: prompt.useful.lines(),
            with_tools: pack(Client::WithTools)?,
            without_tools: pack(Client::WithoutTools)?,
        })
    }

    /// Sends each turn of a conversation, and grades the pack of the newest turn.
    fn converse(&self, client: Client, session: &str, prompt: &Prompt) -> Result<GradedPack> {
        let messages = prompt.messages();
        let ends = (1..=messages.len()).filter(|end| messages[end - 1].role == Role::User);
        let turns = ends.map(|end| send((&self.home, &self.gateway), client, session, &messages[..end]));
        let receipts = turns.collect::<Result<Vec<_>>>()?;
        let (newest, earlier) = receipts.split_last().context("no turn")?;
        let sent = self.upstream.take_requests();
        let request = sent.iter().rfind(|request| request.method == "POST").context("the backend got no request")?;
        let body: Value = serde_json::from_slice(&request.body)?;
        let text = body["messages"][messages.len() - 1]["content"].as_str();
        let added = text.and_then(|text| text.strip_prefix(&*prompt.prompt));
        let added = added.context("the prompt was changed")?;
        let block = added.find(OPEN).map(|at| &added[at..]);
        ensure!(block.is_some() || added.is_empty(), "text without a fence was added");
        GradedPack::of(newest, block, earlier, &prompt.useful)
    }
}
