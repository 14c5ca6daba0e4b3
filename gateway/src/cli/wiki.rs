//! `muninn wiki`: the linked pages of the team's knowledge, or of any folder of Markdown.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use muninn_config::paths;
use muninn_core::{ListedPage, PageView, Wiki, wiki_folder};
use muninn_notebooks::wiki::{Deleted, FoundPage, LinkStyle, Moved, PageChange, PagePath, WikiError};
use serde_json::{Map, Value, json};

use super::{CliError, Common, Exit, editor, examples, output, read_text};

/// Read, write, move and search wiki pages; list their links; print the digest of all
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn wiki digest", "What the wiki is about, its areas, and the pages in use"),
    ("muninn wiki show http/errors", "A page with its links and backlinks"),
    ("muninn wiki links --dir ~/vault", "Broken links and orphans of another folder"),
]))]
pub(crate) struct WikiCommand {
    #[command(subcommand)]
    action: Action,
    /// Open this folder [default: that of `[wiki] path`, .muninn/knowledge of the repository]
    #[arg(long, value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// Which half of [[a|b]] is the target [default: that of `[wiki] link_style`]
    #[arg(long, value_name = "STYLE", global = true, value_enum)]
    link_style: Option<Style>,
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
    /// Create a page; its text is read from a file or from standard input
    #[command(after_help = examples(&[
        ("muninn wiki new http/errors", "With its name as the heading"),
        ("muninn wiki new http/errors --from draft.md", "With the text of a file"),
    ]))]
    New {
        /// The path, without .md
        #[arg(value_name = "PAGE")]
        page: String,
        /// Read the text from this file; `-` is standard input
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Edit a page in $VISUAL or $EDITOR, replace its text, or set keys of its front matter
    #[command(after_help = examples(&[
        ("muninn wiki edit http/errors", "In the editor"),
        ("muninn wiki edit http/errors --from new.md", "The front matter stays if the file has none"),
        ("muninn wiki edit http/errors --set owner=ann --set draft=", "Other keys and comments stay; draft is removed"),
    ]), group = ArgGroup::new("change").args(["from", "set"]).multiple(true))]
    Edit {
        /// The path, without .md
        #[arg(value_name = "PAGE")]
        page: String,
        /// Read the new text from this file; `-` is standard input
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Set a key of the front matter to a JSON value or a text; without a value, remove it
        #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
        set: Vec<(String, Value)>,
        /// Refuse if the page is not this version, which `show` prints
        #[arg(long, value_name = "ETAG", requires = "change")]
        etag: Option<String>,
    },
    /// Move a page, and change all links to it
    #[command(after_help = examples(&[("muninn wiki mv plans/new archive/2026/new", "All links lead to the new path")]))]
    Mv {
        /// The path, without .md
        #[arg(value_name = "FROM")]
        from: String,
        /// The new path
        #[arg(value_name = "TO")]
        to: String,
    },
    /// Delete a page; git or a trash folder keeps its text
    #[command(after_help = examples(&[("muninn wiki rm plans/old", "Lists the links that lead nowhere since")]))]
    Rm {
        /// The path, without .md
        #[arg(value_name = "PAGE")]
        page: String,
    },
    /// Search the texts of all pages
    #[command(after_help = examples(&[("muninn wiki search retries of timeouts", "The best pages, each with a line")]))]
    Search {
        /// The words
        #[arg(value_name = "WORDS", required = true)]
        words: Vec<String>,
        /// Show at most so many pages
        #[arg(long, value_name = "COUNT", default_value_t = 20)]
        max: usize,
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
        let settings = common.configuration(None)?.wiki;
        let folder = match &self.dir {
            Some(folder) => folder.clone(),
            None => wiki_folder(common.worktree()?.root(), &settings)?,
        };
        let style = match self.link_style {
            None => settings.link_style,
            Some(Style::Auto) => LinkStyle::Auto,
            Some(Style::Obsidian) => LinkStyle::Obsidian,
            Some(Style::MindMap) => LinkStyle::MindMap,
        };
        let wiki = Wiki::open(&folder, style, &settings.digest, &paths::state_dir()?)?;
        wiki.notes().iter().for_each(|note| output::note(note));
        match &self.action {
            Action::List { prefix } => self.print(&*wiki.list(prefix), table),
            Action::Show { page } => self.print(&wiki.show(page)?, text),
            Action::New { page, from } => self.create(&wiki, page, from.as_deref())?,
            Action::Edit { page, from, set, etag } => {
                let text = from.as_deref().map(read_text).transpose()?;
                let set: Map<String, Value> = set.iter().cloned().collect();
                let change = PageChange { text: text.as_deref(), front_matter: (!set.is_empty()).then_some(&set) };
                self.edit(&wiki, page, &change, etag.as_deref())?;
            }
            Action::Mv { from, to } => self.print(&wiki.rename(from, to)?, moved),
            Action::Rm { page } => self.print(&wiki.delete(page)?, deleted),
            Action::Search { words, max } => {
                let words = words.join(" ");
                let pages = match self.dir {
                    Some(_) => wiki.search(&words, *max),
                    None => common.workspace()?.search_pages(&wiki, &words, *max),
                };
                self.print(&*pages, found);
                if pages.is_empty() {
                    output::note("no page matches");
                    return Ok(ExitCode::from(Exit::Failure as u8));
                }
            }
            Action::Links => self.links(&wiki),
            Action::Digest => self.print(&wiki.digest(), |digest| digest.markdown.clone()),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print<T: serde::Serialize + ?Sized>(&self, value: &T, text: impl FnOnce(&T) -> String) {
        output::value(self.json, value, text);
    }

    fn create(&self, wiki: &Wiki, page: &str, from: Option<&Path>) -> Result<(), CliError> {
        let text = match from {
            Some(from) => read_text(from)?,
            None => format!("# {}\n", PagePath::new(page).map_err(WikiError::from)?.name()),
        };
        let page = wiki.create(page, &text)?;
        let file = wiki.file(page.as_str())?;
        self.print(&json!({"path": page, "file": file}), |_| format!("created {}\n", file.display()));
        Ok(())
    }

    fn edit(&self, wiki: &Wiki, page: &str, change: &PageChange<'_>, etag: Option<&str>) -> Result<(), CliError> {
        let etag = if change.text.is_some() || change.front_matter.is_some() {
            wiki.update(page, change, etag)?
        } else {
            // An editor works on the file itself.
            editor::open(&wiki.file(page)?, "give the text with `--from FILE`")?;
            wiki.show(page)?.etag
        };
        self.print(&json!({"path": page, "etag": etag}), |_| format!("updated {page}, etag {etag}\n"));
        Ok(())
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

fn moved(moved: &Moved) -> String {
    let rewritten = moved.rewritten.iter().map(|page| format!("links   {page}\n"));
    format!("moved   {} -> {}\n{}", moved.from, moved.to, rewritten.collect::<String>())
}

fn deleted(deleted: &Deleted) -> String {
    let kept = match &deleted.trash {
        Some(file) => format!("its text is in {}", file.display()),
        None => "the last commit has its text".to_owned(),
    };
    let broken = deleted.broken.iter().map(|link| format!("broken  {} -> {}\n", link.page, link.target));
    format!("deleted {}; {kept}\n{}", deleted.path, broken.collect::<String>())
}

fn found(pages: &[FoundPage]) -> String {
    let row = |page: &FoundPage| format!("{}  {}\n    {}\n", page.path, page.title, page.snippet);
    pages.iter().map(row).collect()
}

fn table(pages: &[ListedPage]) -> String {
    let widest = pages.iter().map(|page| page.path.as_str().chars().count()).max().unwrap_or(0);
    let row = |page: &ListedPage| {
        let from = output::plural(page.backlinks, "backlink");
        format!("{:<widest$}  {from:<13}  {}\n", page.path.as_str(), page.title)
    };
    pages.iter().map(row).collect()
}

/// Parses `KEY=VALUE`. An empty value is null; a value that is not JSON is a text.
fn assignment(written: &str) -> Result<(String, Value), String> {
    let (key, value) = written.split_once('=').ok_or("write KEY=VALUE")?;
    let value = match value {
        "" => Value::Null,
        value => match serde_json::from_str(value) {
            // An integer of more digits than readers of JSON and YAML keep is a text.
            Ok(Value::Number(number)) if number.as_i64().is_none() && !value.contains(['.', 'e', 'E']) => {
                Value::from(value)
            }
            Ok(value) => value,
            Err(_) => Value::from(value),
        },
    };
    Ok((key.to_owned(), value))
}

/// A value of front matter on one line: texts and lists of texts as they are.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('\n', " "),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        value => value.to_string(),
    }
}

fn text(page: &PageView) -> String {
    let list = |name: &str, pages: &[PagePath]| match pages {
        [] => String::new(),
        pages => {
            let pages: Vec<_> = pages.iter().map(|page| page.as_str()).collect();
            format!("{name:<10} {}\n", pages.join(", "))
        }
    };
    let front = page.frontmatter.iter().filter(|(key, _)| *key != "title");
    let front: String = front.map(|(key, value)| format!("{key:<10} {}\n", shown(value))).collect();
    format!(
        "page       {}\ntitle      {}\nmodified   {}\netag       {}\n{front}{}{}\n{}",
        page.path,
        page.title,
        output::local_time(&page.modified_at),
        page.etag,
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
            WikiError::NoPage { .. } => {
                CliError::new(Exit::NotFound, message).hint("`muninn wiki list` lists the pages")
            }
            WikiError::Path(_) | WikiError::FrontMatterKey(_) => CliError::new(Exit::Usage, message),
            WikiError::Write(error) => error.into(),
            WikiError::Changed { .. } => {
                CliError::new(Exit::Failure, message).hint("read it again with `muninn wiki show`")
            }
            WikiError::Exists(page) => {
                CliError::new(Exit::Failure, message).hint(format!("`muninn wiki edit {page}` changes it"))
            }
            WikiError::Secret
            | WikiError::NotAllowed
            | WikiError::Full(_)
            | WikiError::FrontMatter(_)
            | WikiError::NotUtf8(_)
            | WikiError::Link { .. }
            | WikiError::Read { .. }
            | WikiError::State { .. } => CliError::new(Exit::Failure, message),
        }
    }
}
