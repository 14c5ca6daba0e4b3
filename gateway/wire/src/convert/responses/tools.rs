//! Reader of tools and of the tool choice.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::super::request::{Dropped, Tool, ToolChoice};
use super::super::{SpecialKind, SpecialTool};
use super::flat_name;
use super::incoming::kind_name;
use crate::{Element, Members};

/// The schema of the function that replaces a custom tool: one string.
const FREE_TEXT: &str = r#"{"type":"object","properties":{"input":{"type":"string","description":"The tool's whole input, as free text"}},"required":["input"],"additionalProperties":false}"#;

/// The name of the function that replaces a client's search for tools.
pub(super) const SEARCH: &str = "tool_search";

/// The tools of a request, from `tools` and from items.
#[derive(Default)]
pub(super) struct Tools<'a> {
    /// The tools that the model may call.
    pub(super) list: Vec<Tool<'a>>,
    /// The tools that the client did not declare as plain functions, by name.
    pub(super) special: BTreeMap<String, SpecialTool>,
}

impl<'a> Tools<'a> {
    /// Adds a list of tools. Returns the names of those that could be converted.
    pub(super) fn extend(&mut self, tools: Vec<Element<'a>>, dropped: &mut Dropped) -> Vec<String> {
        let mut names = Vec::new();
        for tool in tools {
            self.add(tool, None, dropped, &mut names);
        }
        names
    }

    fn add(&mut self, tool: Element<'a>, space: Option<&str>, dropped: &mut Dropped, names: &mut Vec<String>) {
        let Some(members) = tool.object() else {
            dropped.add("tools");
            return;
        };
        let kind = members.string("type").unwrap_or_else(|| "function".into());
        match &*kind {
            "function" => {
                // Some clients send the form of chat completions.
                let nested = members.get("function").and_then(Members::of);
                self.function(nested.as_ref().unwrap_or(&members), space, dropped, names);
            }
            "custom" => self.custom(&members, space, dropped, names),
            "namespace" if space.is_none() => self.namespace(&members, dropped, names),
            "tool_search" if members.string("execution").as_deref() == Some("client") => {
                let tool = Tool {
                    name: SEARCH.into(),
                    description: members.string("description"),
                    schema: members.present("parameters").map(Cow::Borrowed),
                    strict: None,
                    cache_control: None,
                };
                self.insert(tool, SpecialKind::Search, SEARCH, None, names);
            }
            other => dropped.add(format!("tools.{}", kind_name(other))),
        }
    }

    /// Adds the tools of a namespace with flat names. The namespace's description is put before that of its first tool.
    fn namespace(&mut self, members: &Members<'a>, dropped: &mut Dropped, names: &mut Vec<String>) {
        let space = members.string("name").unwrap_or_default();
        let before = self.list.len();
        for tool in members.elements("tools") {
            self.add(tool, Some(&space), dropped, names);
        }
        let default = format!("Tools in the {space} namespace.");
        let description =
            members.string("description").filter(|description| !description.is_empty() && **description != default);
        if let (Some(description), Some(first)) = (description, self.list.get_mut(before)) {
            first.description = Some(match first.description.take() {
                Some(own) => format!("{description}\n\n{own}").into(),
                None => description,
            });
        }
    }

    fn function(&mut self, members: &Members<'a>, space: Option<&str>, dropped: &mut Dropped, names: &mut Vec<String>) {
        let Some(name) = members.string("name").filter(|name| !name.is_empty()) else {
            dropped.add("tools.function");
            return;
        };
        let tool = Tool {
            name: flat_name(space, name.clone()),
            description: members.string("description"),
            schema: members.present("parameters").map(Cow::Borrowed),
            strict: members.parse("strict"),
            cache_control: None,
        };
        self.insert(tool, SpecialKind::Function, &name, space, names);
    }

    fn custom(&mut self, members: &Members<'a>, space: Option<&str>, dropped: &mut Dropped, names: &mut Vec<String>) {
        let Some(name) = members.string("name").filter(|name| !name.is_empty()) else {
            dropped.add("tools.custom");
            return;
        };
        let tool = Tool {
            name: flat_name(space, name.clone()),
            description: custom_description(members),
            schema: serde_json::from_str::<&RawValue>(FREE_TEXT).ok().map(Cow::Borrowed),
            strict: None,
            cache_control: None,
        };
        self.insert(tool, SpecialKind::Custom, &name, space, names);
    }

    /// Inserts a tool. Later items may repeat a tool, which then replaces the earlier one at the same position.
    fn insert(&mut self, tool: Tool<'a>, kind: SpecialKind, name: &str, space: Option<&str>, names: &mut Vec<String>) {
        names.push(tool.name.clone().into_owned());
        if kind != SpecialKind::Function || space.is_some() {
            let special = SpecialTool { kind, namespace: space.map(str::to_owned), name: name.to_owned() };
            self.special.insert(tool.name.clone().into_owned(), special);
        } else {
            self.special.remove(&*tool.name);
        }
        match self.list.iter_mut().find(|known| known.name == tool.name) {
            Some(known) => *known = tool,
            None => self.list.push(tool),
        }
    }

    /// Reads the tool choice. `allowed_tools` removes all other tools.
    pub(super) fn choice(&mut self, members: &Members<'a>, dropped: &mut Dropped) -> Option<ToolChoice<'a>> {
        let raw = members.present("tool_choice")?.get();
        let choice = match members.string("tool_choice").as_deref() {
            Some("auto") => Some(ToolChoice::Auto),
            Some("none") => Some(ToolChoice::None),
            Some("required") => Some(ToolChoice::Required),
            Some(_) => None,
            None => self.object_choice(&Members::of(raw).unwrap_or_default(), dropped),
        };
        if choice.is_none() {
            dropped.add("tool_choice");
        }
        // Backends refuse a choice without tools.
        choice.filter(|_| !self.list.is_empty())
    }

    fn object_choice(&mut self, members: &Members<'a>, dropped: &mut Dropped) -> Option<ToolChoice<'a>> {
        let kind = members.string("type").unwrap_or_default();
        match &*kind {
            "allowed_tools" => {
                let allowed: Vec<_> =
                    members.elements("tools").into_iter().filter_map(|tool| chosen_name(&tool.object()?)).collect();
                self.list.retain(|tool| allowed.contains(&tool.name));
                let required = members.string("mode").as_deref() == Some("required");
                Some(if required { ToolChoice::Required } else { ToolChoice::Auto })
            }
            "function" | "custom" => {
                let name = chosen_name(members)?;
                let known = self.list.iter().any(|tool| tool.name == name);
                known.then_some(ToolChoice::Tool(name))
            }
            other => {
                dropped.add(format!("tool_choice.{}", kind_name(other)));
                Some(ToolChoice::Auto)
            }
        }
    }
}

/// Returns the flat name of the tool in a choice.
fn chosen_name<'a>(members: &Members<'a>) -> Option<Cow<'a, str>> {
    let nested = members.get("function").and_then(Members::of);
    let name = nested.as_ref().unwrap_or(members).string("name")?;
    Some(flat_name(members.string("namespace").as_deref(), name))
}

/// Returns the description of a custom tool with its grammar, because a function cannot have a grammar.
fn custom_description<'a>(members: &Members<'a>) -> Option<Cow<'a, str>> {
    let description = members.string("description");
    let format = members.get("format").and_then(Members::of).unwrap_or_default();
    // In chat completions, the grammar is nested one level deeper.
    let nested = format.get("grammar").and_then(Members::of);
    let grammar = nested.as_ref().unwrap_or(&format);
    let Some(definition) = grammar.string("definition") else {
        return description;
    };
    let syntax = grammar.string("syntax").unwrap_or_default();
    let rule = format!("`input` is free text, not JSON, and must match this {syntax} grammar:\n\n{definition}");
    Some(match description {
        Some(description) if !description.is_empty() => format!("{description}\n\n{rule}").into(),
        _ => rule.into(),
    })
}
