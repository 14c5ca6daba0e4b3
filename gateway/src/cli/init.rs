//! `muninn init`: creates `.muninn/` in a worktree. Without it, Muninn writes nothing into a worktree.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use muninn_base::{Supervisor, add_missing_lines, with_causes};
use muninn_clients::set_key;
use muninn_config::paths;
use muninn_core::ConfiguredEmbedder;
use muninn_reconcile::SETUP;
use muninn_repo_tools::{DiscoverError, Worktree};
use muninn_team::knowledge::PLACEHOLDER;
use muninn_team::records::{ATTRIBUTES, SESSIONS};

use super::model::MODEL_OFFER;
use super::{CliError, Common, Exit, examples, output};

/// Create .muninn/ in this repository, and print how to connect each client
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn init", "Ask where session memory is kept, and create .muninn/"),
    ("muninn init --memory repo", "Share session memory with the team through git"),
]))]
pub(crate) struct Init {
    /// Where session memory is written [default: asks on a terminal, else `local`]
    #[arg(long, value_enum)]
    memory: Option<MemoryChoice>,
    /// Keep a worklog, JOURNAL.md, in all your repositories with .muninn/ [default: asks on a terminal, else no]
    #[arg(long)]
    worklog: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MemoryChoice {
    /// In .muninn/memory/, shared with the team through git
    Repo,
    /// In your state directory, on this machine only
    Local,
    /// Not at all
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
            let failure = CliError::new(Exit::NotFound, with_causes(&error));
            match error {
                DiscoverError::NotARepository { .. } => {
                    failure.hint("run `git init` first, or name a repository with --root DIR")
                }
                _ => failure,
            }
        })?;
        let folder = worktree.root().join(".muninn");
        let own = [".muninn", ".muninn/knowledge", ".muninn/memory", SESSIONS];
        let of_files = SETUP.iter().filter_map(|(path, _)| Some(path.rsplit_once('/')?.0));
        for name in own.into_iter().chain(of_files) {
            check_directory(&worktree.root().join(name))?;
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
        let for_git = SETUP.map(|(path, text)| -> Result<bool, CliError> {
            let file = worktree.root().join(path);
            if write_new(&file, text)? {
                return Ok(true);
            }
            // Another version can have written fewer attributes. Git ignores a link.
            if path != ATTRIBUTES || file.is_symlink() {
                return Ok(false);
            }
            let lines: Vec<&str> = text.lines().collect();
            Ok(add_missing_lines(&file, "", &lines).map_err(cannot_write(&file))? > 0)
        });
        let made: Vec<bool> = made.into_iter().map(Ok).chain(for_git).collect::<Result<_, _>>()?;
        if made.contains(&true) {
            let verb = if existing { "completed" } else { "created" };
            output::line(&format!("{verb} {} (memory: {})", folder.display(), memory.name()));
        } else {
            output::line(&format!("{} already exists; nothing was changed", folder.display()));
        }
        let is_new = made.contains(&true) && !config.worklog.enabled;
        if self.worklog || is_new && ask_for_worklog()? {
            enable_worklog(common)?;
        } else if !config.worklog.enabled {
            output::line("no worklog is kept; `muninn init --worklog` enables it (docs/worklog.md)");
        }
        if ConfiguredEmbedder::new(&config, &Supervisor::default()).is_missing() {
            output::line(MODEL_OFFER);
        }
        output::print(&client_setup(&format!("http://{}", config.listen)));
        Ok(ExitCode::SUCCESS)
    }
}

/// Refuses a symbolic link or a file: writing through a link could leave the worktree.
fn check_directory(folder: &Path) -> Result<(), CliError> {
    match folder.symlink_metadata() {
        Ok(meta) if !meta.is_dir() => Err(CliError::new(
            Exit::Failure,
            format!("{} is a file or a symbolic link, not a directory", folder.display()),
        )
        .hint("remove it, and run `muninn init` again")),
        _ => Ok(()),
    }
}

fn cannot_write(path: &Path) -> impl Fn(std::io::Error) -> CliError {
    move |error| CliError::new(Exit::Failure, format!("cannot write {}: {error}", path.display()))
}

/// Writes a file unless it exists. Returns whether it was written.
fn write_new(path: &Path, text: &str) -> Result<bool, CliError> {
    let failure = cannot_write(path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(&failure)?;
    }
    match std::fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(&failure)?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failure(error)),
    }
}

fn ask_for_memory() -> Result<MemoryChoice, CliError> {
    if !std::io::stdin().is_terminal() {
        return Ok(MemoryChoice::Local);
    }
    output::note(
        "Where should session memory be written?\n  repo   in .muninn/memory/, shared with the team through git\n  local  in your state directory, on this machine only\n  off    not at all",
    );
    for _ in 0..3 {
        write!(anstream::stderr(), "repo, local or off [local]: ").ok();
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        match answer.trim() {
            "repo" => return Ok(MemoryChoice::Repo),
            "" | "local" => return Ok(MemoryChoice::Local),
            "off" => return Ok(MemoryChoice::Off),
            other => output::note(&format!("`{other}` is not one of repo, local and off")),
        }
    }
    Err(CliError::new(Exit::Usage, "no valid answer after three questions")
        .hint("choose with --memory repo, --memory local or --memory off"))
}

fn ask_for_worklog() -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    output::note(
        "Keep a worklog, JOURNAL.md, in your repositories with .muninn/? Agents note what failed, and read it before they edit.",
    );
    write!(anstream::stderr(), "yes or no [no]: ").ok();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "yes"))
}

/// Sets `[worklog] enabled` in the user's file.
fn enable_worklog(common: &Common) -> Result<(), CliError> {
    let path = match &common.config {
        Some(path) => path.clone(),
        None => paths::config_file()?,
    };
    set_key(&path, &["worklog", "enabled"], true.into())
        .map_err(|error| CliError::new(Exit::Failure, with_causes(&error)))?;
    output::line(&format!(
        "a worklog is kept: {} has `[worklog] enabled = true`; run `muninn install CLIENT --with hooks` again for the hooks of tools",
        path.display()
    ));
    Ok(())
}

fn configuration(memory: MemoryChoice) -> String {
    format!(
        "# What Muninn packs and remembers in this repository. Backends and credentials cannot be set here: they belong to\n\
         # each user's own muninn.toml.\n\n\
         [context]\n# enabled = true\n# tokens_with_tools = 2000\n# tokens_without_tools = 4000\n\n\
         [memory]\n# repo: in .muninn/memory/, through git; local: in each user's state directory; off: not at all\nwrite = \"{}\"\n",
        memory.name()
    )
}

/// The settings of each client, ready to be pasted.
fn client_setup(url: &str) -> String {
    format!(
        "\nStart the gateway with `muninn serve`, then connect a client as follows. `muninn run -- CLIENT` needs none of this.\n\n\
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
