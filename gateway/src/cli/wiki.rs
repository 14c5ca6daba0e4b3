//! `muninn wiki`: the linked pages of the team's knowledge, or of any folder of Markdown.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use muninn_memory::knowledge;
use muninn_memory::wiki::{LinkStyle, PagePath};
use serde_json::json;

use super::{CliError, Common, Exit, examples, output};
use crate::app::{ListedPage, PageView, Wiki, WikiError};
use crate::config::paths;

/// List and show wiki pages, their links, and the digest of all
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn wiki digest", "What the wiki is about, its areas, and the pages in use"),
    ("muninn wiki show http/errors", "A page with its links and backlinks"),
    ("muninn wiki links --dir ~/vault", "Broken links and orphans of another folder"),
]))]
pub(crate) struct WikiCommand {
    #[command(subcommand)]
    action: Action,
    /// Open this folder [default: .muninn/knowledge of the repository]
    #[arg(long, value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// Which half of [[a|b]] is the target
    #[arg(long, value_name = "STYLE", global = true, value_enum, default_value_t = Style::Auto)]
    link_style: Style,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

/// The order of the halves of `[[a|b]]`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Style {
    /// The half that names a page
    Auto,
    /// The first one, as in Obsidian
    Obsidian,
    /// The second one, as in mind-map
    MindMap,
}

#[derive(Subcommand)]
enum Action {
    /// List the pages with their titles
    #[command(after_help = examples(&[
        ("muninn wiki list", "All pages"),
        ("muninn wiki list http/", "The pages of a folder"),
    ]))]
    List {
        /// Only the pages whose path begins with this
        #[arg(value_name = "PREFIX", default_value = "")]
        prefix: String,
    },
    /// Show a page with its links and backlinks
    #[command(after_help = examples(&[("muninn wiki show http/errors", "The page .muninn/knowledge/http/errors.md")]))]
    Show {
        /// The path, without .md
        #[arg(value_name = "PAGE")]
        page: String,
    },
    /// List the links that lead nowhere, and the pages that nobody links to
    #[command(after_help = examples(&[("muninn wiki links", "Broken links and orphans")]))]
    Links,
    /// Print the digest: terms, areas and pages in use
    #[command(after_help = examples(&[
        ("muninn wiki digest", "As Markdown, at most 4 KiB"),
        ("muninn wiki digest --json", "With the count of each term"),
    ]))]
    Digest,
}

impl WikiCommand {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let folder = match &self.dir {
            Some(folder) => folder.clone(),
            None => common.worktree()?.root().join(knowledge::ROOT),
        };
        let style = match self.link_style {
            Style::Auto => LinkStyle::Auto,
            Style::Obsidian => LinkStyle::Obsidian,
            Style::MindMap => LinkStyle::MindMap,
        };
        let mut wiki = Wiki::open(&folder, style, &paths::state_dir()?)?;
        wiki.notes().iter().for_each(|note| output::note(note));
        match &self.action {
            Action::List { prefix } => self.print(&*wiki.list(prefix), table),
            Action::Show { page } => self.print(&wiki.show(page)?, text),
            Action::Links => self.links(&wiki),
            Action::Digest => self.print(&wiki.digest(), |digest| digest.markdown.clone()),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print<T: serde::Serialize + ?Sized>(&self, value: &T, text: impl FnOnce(&T) -> String) {
        match self.json {
            true => output::json(value),
            false => output::print(&output::sanitize(&text(value))),
        }
    }

    fn links(&self, wiki: &Wiki) {
        let (broken, orphans) = (wiki.broken(), wiki.orphans());
        if self.json {
            return output::json(&json!({"broken": broken, "orphans": orphans}));
        }
        for link in broken {
            output::line(&output::sanitize(&format!("broken   {} -> {}", link.page, link.target)));
        }
        for page in orphans {
            output::line(&output::sanitize(&format!("orphan   {}", page.path)));
        }
    }
}

fn table(pages: &[ListedPage]) -> String {
    let widest = pages
        .iter()
        .map(|page| page.path.as_str().chars().count())
        .max()
        .unwrap_or(0);
    let row = |page: &ListedPage| {
        let from = output::plural(page.backlinks, "backlink");
        format!("{:<widest$}  {from:<13}  {}\n", page.path.as_str(), page.title)
    };
    pages.iter().map(row).collect()
}

fn text(page: &PageView) -> String {
    let list = |name: &str, pages: &[PagePath]| match pages {
        [] => String::new(),
        pages => {
            let pages: Vec<_> = pages.iter().map(|page| page.as_str()).collect();
            format!("{name:<10} {}\n", pages.join(", "))
        }
    };
    format!(
        "page       {}\ntitle      {}\nmodified   {}\n{}{}\n{}",
        page.path,
        page.title,
        output::local_time(&page.modified_at),
        list("links", &page.links),
        list("backlinks", &page.backlinks),
        page.body
    )
}

impl From<WikiError> for CliError {
    fn from(error: WikiError) -> Self {
        let message = error.to_string();
        match error {
            WikiError::NoFolder(_) => {
                CliError::new(Exit::NotFound, message).hint("run `muninn init`, or name a folder with `--dir`")
            }
            WikiError::NoPage(_) => CliError::new(Exit::NotFound, message).hint("`muninn wiki list` lists the pages"),
            WikiError::Path(_) => CliError::new(Exit::Usage, message),
            WikiError::Read { .. } => CliError::new(Exit::Failure, message),
        }
    }
}
