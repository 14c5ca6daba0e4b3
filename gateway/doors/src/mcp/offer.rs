//! The offered tools, and what the server says of itself.

use std::sync::Arc;

use muninn_context_engine::tools::Effect;
use muninn_core::{ClientTool, ModelUse, ToolSet, client_tools};
use rmcp::model::{Implementation, JsonObject, MetaObject, ServerCapabilities, ServerConfig, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use thiserror::Error;

/// The tools that are offered if the user chooses none. Clients have their own search and reading, and some send every
/// definition in each request.
const DEFAULT: [&str; 6] = ["find_context", "definition", "references", "callers", "recall", "remember"];

/// What the server is for. Clients cut long instructions after 245 characters.
const PITCH: &[(&[&str], &str)] = &[
    (&[], "Muninn knows this repository and what its team has learned."),
    (
        &["find_context"],
        "Call `find_context` with the question before you search or read: one call finds the code and the decisions.",
    ),
    (&["recall", "remember"], "`recall` finds conventions and pitfalls; `remember` keeps new ones."),
];

/// How tools are used. Each sentence is for an offer that has all of its tools.
const ADVICE: &[(&[&str], &str)] = &[
    (
        &["find_context", "definition", "references", "callers"],
        "Use `find_context` for questions and tasks in full sentences, `definition`, `references` and `callers` for one name.",
    ),
    (&["find_context"], "Results name files and lines: read them before you change them."),
    (
        &["remember"],
        "After a decision or a surprise that the next session should know, call `remember` with one or two sentences that stand \
         alone. Nothing is committed: the user reviews memory like code.",
    ),
    (&["get_wiki_digest"], "`get_wiki_digest` tells what the team's wiki is about: call it once, at the start."),
    (&["search_pages", "get_page"], "`search_pages` finds its pages, `get_page` reads one."),
    (&["get_page", "update_page"], "Read a page before you change it: `update_page` needs its etag."),
    (
        &["journal_toc", "journal_read"],
        "`journal_toc` lists the sections of the git journal, `journal_read` reads one.",
    ),
    (&["journal_read", "journal_write"], "Read a section before `journal_write`, which needs its version."),
    (&["worklog_read"], "`worklog_read` tells what was done before in this worktree."),
    (&["get_context"], "`get_context` tells what the user wants you to know of them: call it once, at the start."),
    (&["log_journal"], "`log_journal` keeps what the user tells of their day."),
];

/// The key of the hint for clients that load tools on demand.
const SEARCH_HINT: &str = "anthropic/searchHint";

/// A name in the choice of tools is neither a tool nor a set.
#[derive(Debug, Error)]
#[error("there is no tool or set of tools `{name}`; there are {known}")]
pub struct UnknownTool {
    name: String,
    known: String,
}

/// The tools that are offered, in a fixed order.
#[derive(Clone)]
pub struct Offer {
    tools: Arc<[(&'static ClientTool, Tool)]>,
    config: ServerConfig,
}

impl Offer {
    /// The offer of the tools and sets with these names; without names, of the default tools. `takes_root`: whether calls
    /// can name a repository. `explores`: whether a model is configured for the tools that ask one.
    pub fn of(names: &[String], takes_root: bool, explores: bool) -> Result<Offer, UnknownTool> {
        let chosen = |tool: &ClientTool, name: &str| {
            let is_of = |set: &str| ToolSet::EACH.iter().any(|(known, of)| *known == set && *of == tool.set);
            tool.name() == name || is_of(name)
        };
        let is_known = |name: &&String| client_tools().iter().any(|tool| chosen(tool, name));
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            let sets = ToolSet::EACH.iter().map(|(name, _)| *name);
            let known: Vec<&str> = sets.chain(client_tools().iter().map(ClientTool::name)).collect();
            return Err(UnknownTool { name: unknown.clone(), known: known.join(", ") });
        }
        let is_offered = |tool: &&ClientTool| match names {
            [] => DEFAULT.contains(&tool.name()),
            names => names.iter().any(|name| chosen(tool, name)),
        };
        let tools = client_tools().iter().filter(is_offered);
        let tools = tools.filter(|tool| explores || tool.model != ModelUse::Explorer);
        let tools: Vec<_> = tools.map(|tool| (tool, definition(tool, takes_root))).collect();
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .enable_skills()
            .build();
        let server = Implementation::new("muninn", env!("CARGO_PKG_VERSION")).with_title("Muninn");
        Ok(Offer { tools: tools.into(), config: ServerConfig::new(capabilities).with_server_info(server) })
    }

    /// The offer without tools that write.
    pub fn that_reads(self) -> Offer {
        let tools = self.tools.iter().filter(|(tool, _)| tool.effect() == Effect::Reads);
        Offer { tools: tools.cloned().collect(), ..self }
    }

    /// The offer without tools of these names.
    pub fn without(self, names: &[&str]) -> Offer {
        let tools = self.tools.iter().filter(|(tool, _)| !names.contains(&tool.name()));
        Offer { tools: tools.cloned().collect(), ..self }
    }

    /// What the server says of itself.
    pub(super) fn config(&self) -> ServerConfig {
        self.config.clone().with_instructions(self.instructions())
    }

    /// The instructions: the sentences about offered tools.
    pub(super) fn instructions(&self) -> String {
        let of = |sentences: &[(&[&str], &str)]| {
            let sentences = sentences.iter().filter(|(tools, _)| tools.iter().all(|name| self.get(name).is_some()));
            sentences.map(|(_, sentence)| *sentence).collect::<Vec<_>>().join(" ")
        };
        format!("{}\n\n{}", of(PITCH), of(ADVICE)).trim_end().to_owned()
    }

    /// The definitions of all offered tools.
    pub(super) fn definitions(&self) -> Vec<Tool> {
        self.tools.iter().map(|(_, definition)| definition.clone()).collect()
    }

    /// An offered tool with its definition.
    pub(super) fn get(&self, name: &str) -> Option<&(&'static ClientTool, Tool)> {
        self.tools.iter().find(|(tool, _)| tool.name() == name)
    }
}

fn definition(tool: &ClientTool, takes_root: bool) -> Tool {
    let description = &tool.description;
    let mut schema = match description.schema(false) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    if takes_root && let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let root = json!({"type": "string", "description": "the repository's directory, if it is not the server's"});
        properties.insert("root".to_owned(), root);
    }
    let effect = ToolAnnotations::new()
        .read_only(description.effect == Effect::Reads)
        .destructive(description.effect == Effect::Replaces)
        .idempotent(description.effect == Effect::Reads)
        .open_world(false);
    let hint: JsonObject = [(SEARCH_HINT.to_owned(), Value::from(description.hint))].into_iter().collect();
    let definition = Tool::new(description.name, description.description, Arc::new(schema))
        .with_title(title(description.name))
        .with_annotations(effect)
        .with_meta(MetaObject(hint));
    match tool.output.map(|schema| schema().to_value()) {
        Some(Value::Object(schema)) => definition.with_raw_output_schema(Arc::new(schema)),
        _ => definition,
    }
}

/// The name as a title: `git_log` becomes `Git log`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => words,
    }
}
