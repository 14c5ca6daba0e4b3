//! `muninn init`: the one command that writes into a worktree, because it was asked to.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use muninn_memory::knowledge::PLACEHOLDER;
use muninn_memory::reconcile::SETUP;
use muninn_memory::records::SESSIONS;
use muninn_repo_tools::Worktree;

use super::{CliError, Common, Exit, output};

/// Set up .muninn/ in this repository.
#[derive(Args)]
pub(crate) struct Init {
    /// Where memory of sessions is written; asked where there is a terminal, else `local`
    #[arg(long, value_enum)]
    memory: Option<MemoryChoice>,
}

#[derive(Clone, Copy, ValueEnum)]
enum MemoryChoice {
    /// In the repository, shared with the team through git
    Repo,
    /// In your state directory only
    Local,
    /// Nowhere
    Off,
}

impl MemoryChoice {
    fn name(self) -> &'static str {
        match self {
            MemoryChoice::Repo => "repo",
            MemoryChoice::Local => "local",
            MemoryChoice::Off => "off",
        }
    }
}

impl Init {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let config = common.configuration(None)?;
        let worktree = Worktree::discover(&common.directory()?).map_err(|error| {
            CliError::new(Exit::NotFound, error.to_string())
                .hint("run `git init` first, or name a repository with --root DIR")
        })?;
        let folder = worktree.root().join(".muninn");
        let own = [".muninn", ".muninn/knowledge", ".muninn/memory", SESSIONS];
        let of_files = SETUP.iter().filter_map(|(path, _)| Some(path.rsplit_once('/')?.0));
        for name in own.into_iter().chain(of_files) {
            own_directory(&worktree.root().join(name))?;
        }
        let existing = folder.join("config.toml").exists();
        let memory = match self.memory {
            Some(choice) => choice,
            None if existing => MemoryChoice::Local,
            None => ask_for_memory()?,
        };
        let made = [
            write_new(&folder.join("config.toml"), &configuration(memory))?,
            write_new(&folder.join("knowledge").join("README.md"), PLACEHOLDER)?,
        ];
        let for_git = SETUP.map(|(path, text)| write_new(&worktree.root().join(path), text));
        let made: Vec<bool> = made.into_iter().map(Ok).chain(for_git).collect::<Result<_, _>>()?;
        if made.contains(&true) {
            output::line(&format!("made {} (memory: {})", folder.display(), memory.name()));
        } else {
            output::line(&format!("{} is there already; nothing was changed", folder.display()));
        }
        output::print(&pasting(&format!("http://{}", config.listen)));
        Ok(ExitCode::SUCCESS)
    }
}

/// Nothing is written through a link: it could lead anywhere.
fn own_directory(folder: &Path) -> Result<(), CliError> {
    match folder.symlink_metadata() {
        Ok(meta) if !meta.is_dir() => Err(CliError::new(
            Exit::Failure,
            format!("{} is not a directory of its own; remove it first", folder.display()),
        )),
        _ => Ok(()),
    }
}

/// Writes a file unless it is there; says whether it did.
fn write_new(path: &Path, text: &str) -> Result<bool, CliError> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes())?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(CliError::new(
            Exit::Failure,
            format!("cannot write {}: {error}", path.display()),
        )),
    }
}

fn ask_for_memory() -> Result<MemoryChoice, CliError> {
    if !std::io::stdin().is_terminal() {
        return Ok(MemoryChoice::Local);
    }
    output::note(
        "Where shall Muninn write what it learns in sessions?\n  repo   in .muninn/memory/, shared with the team through git\n  local  in your state directory only\n  off    nowhere",
    );
    for _ in 0..3 {
        let _reader_left = write!(anstream::stderr(), "repo, local or off [local]: ");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        match answer.trim() {
            "repo" => return Ok(MemoryChoice::Repo),
            "" | "local" => return Ok(MemoryChoice::Local),
            "off" => return Ok(MemoryChoice::Off),
            other => output::note(&format!("`{other}` is none of the three")),
        }
    }
    Err(CliError::new(Exit::Usage, "no answer that could be understood")
        .hint("say it with --memory repo, --memory local or --memory off"))
}

fn configuration(memory: MemoryChoice) -> String {
    format!(
        "# What Muninn packs and remembers in this repository. Where requests and credentials go is each user's own business\n\
         # and cannot be set here.\n\n\
         [context]\n# enabled = true\n# tokens_with_tools = 2000\n# tokens_without_tools = 4000\n\n\
         [memory]\n# repo: in .muninn/memory/, through git; local: in each user's state directory; off: nowhere\nwrite = \"{}\"\n",
        memory.name()
    )
}

fn pasting(url: &str) -> String {
    format!(
        "\nStart the gateway with `muninn serve`, then point a client at it (or use `muninn run -- CLIENT`, which needs none of this):\n\n\
         Claude Code     export ANTHROPIC_BASE_URL={url}\n\
         OpenAI clients  export OPENAI_BASE_URL={url}/v1\n\
         aider           export OPENAI_API_BASE={url}/v1\n\
         Codex           ~/.codex/config.toml:\n\
         \x20                 model_provider = \"muninn\"\n\
         \x20                 [model_providers.muninn]\n\
         \x20                 name = \"Muninn\"\n\
         \x20                 base_url = \"{url}/v1\"\n\
         \x20                 env_key = \"OPENAI_API_KEY\"\n\
         \x20                 wire_api = \"responses\"\n\
         opencode        opencode.json: \"provider\": {{\"openai\": {{\"options\": {{\"baseURL\": \"{url}/v1\"}}}}}}\n\
         curl            curl {url}/v1/chat/completions -d '{{\"model\":\"muninn/context\",\"messages\":[{{\"role\":\"user\",\"content\":\"...\"}}]}}'\n"
    )
}
