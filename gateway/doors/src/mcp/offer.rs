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

/// Clients cut long instructions. The first 245 characters say what the server is for.
pub(super) const INSTRUCTIONS: &str = "Muninn knows this repository and what its team has learned. Call `find_context` with the \
question before you search or read: one call finds the code and the decisions. `recall` finds conventions and \
pitfalls; `remember` keeps new ones.\n\nUse `find_context` for questions and tasks in full sentences, `definition`, \
`references` and `callers` for one name. Results name files and lines: read them before you change them. After a decision or \
a surprise that the next session should know, call `remember` with one or two sentences that stand alone. Nothing is \
committed: the user reviews memory like code.";

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
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .build();
        let server = Implementation::new("muninn", env!("CARGO_PKG_VERSION")).with_title("Muninn");
        Ok(Offer {
            tools: tools.map(|tool| (tool, definition(tool, takes_root))).collect(),
            config: ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS),
        })
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
        self.config.clone()
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
