//! Tools from a client, and which of them the model must call.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::super::request::{Dropped, Tool, ToolChoice};
use super::super::{SpecialKind, SpecialTool};
use super::flat_name;
use super::read_items::kind_name;
use crate::wire::{Element, Members};

/// What a custom tool becomes: a function of one string.
const FREE_TEXT: &str = r#"{"type":"object","properties":{"input":{"type":"string","description":"The tool's whole input, as free text"}},"required":["input"],"additionalProperties":false}"#;

/// The function that stands for a client's own search for tools.
pub(super) const SEARCH: &str = "tool_search";

/// The tools of a request, wherever in it they stand.
#[derive(Default)]
pub(super) struct Tools<'a> {
    /// What the model may call.
    pub(super) list: Vec<Tool<'a>>,
    /// What of it the client knows as something else.
    pub(super) special: BTreeMap<String, SpecialTool>,
}

impl<'a> Tools<'a> {
    /// Takes a list of tools, and returns the names of those that it could take.
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
                // The shape of chat completions, which some clients send here too.
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
                self.keep(tool, SpecialKind::Search, SEARCH, None, names);
            }
            other => dropped.add(format!("tools.{}", kind_name(other))),
        }
    }

    /// The tools of a namespace, by flat names. What the namespace says of itself goes to the first of them.
    fn namespace(&mut self, members: &Members<'a>, dropped: &mut Dropped, names: &mut Vec<String>) {
        let space = members.string("name").unwrap_or_default();
        let before = self.list.len();
        for tool in members.elements("tools") {
            self.add(tool, Some(&space), dropped, names);
        }
        let stock = format!("Tools in the {space} namespace.");
        let about = members
            .string("description")
            .filter(|about| !about.is_empty() && **about != stock);
        if let (Some(about), Some(first)) = (about, self.list.get_mut(before)) {
            first.description = Some(match first.description.take() {
                Some(own) => format!("{about}\n\n{own}").into(),
                None => about,
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
        self.keep(tool, SpecialKind::Function, &name, space, names);
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
        self.keep(tool, SpecialKind::Custom, &name, space, names);
    }

    /// A tool that comes again stands for the one before it, in its place: tools may come again with later items.
    fn keep(&mut self, tool: Tool<'a>, kind: SpecialKind, name: &str, space: Option<&str>, names: &mut Vec<String>) {
        names.push(tool.name.clone().into_owned());
        if kind != SpecialKind::Function || space.is_some() {
            let special = SpecialTool {
                kind,
                namespace: space.map(str::to_owned),
                name: name.to_owned(),
            };
            self.special.insert(tool.name.clone().into_owned(), special);
        } else {
            self.special.remove(&*tool.name);
        }
        match self.list.iter_mut().find(|known| known.name == tool.name) {
            Some(known) => *known = tool,
            None => self.list.push(tool),
        }
    }

    /// Whether the model must call something. `allowed_tools` takes the others away.
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
        // With no tool left there is nothing to choose, and backends refuse a choice.
        choice.filter(|_| !self.list.is_empty())
    }

    fn object_choice(&mut self, members: &Members<'a>, dropped: &mut Dropped) -> Option<ToolChoice<'a>> {
        let kind = members.string("type").unwrap_or_default();
        match &*kind {
            "allowed_tools" => {
                let allowed: Vec<_> = members
                    .elements("tools")
                    .into_iter()
                    .filter_map(|tool| chosen(&tool.object()?))
                    .collect();
                self.list.retain(|tool| allowed.contains(&tool.name));
                let required = members.string("mode").as_deref() == Some("required");
                Some(if required {
                    ToolChoice::Required
                } else {
                    ToolChoice::Auto
                })
            }
            "function" | "custom" => {
                let name = chosen(members)?;
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

/// The flat name of a tool that a choice names.
fn chosen<'a>(members: &Members<'a>) -> Option<Cow<'a, str>> {
    let nested = members.get("function").and_then(Members::of);
    let name = nested.as_ref().unwrap_or(members).string("name")?;
    Some(flat_name(members.string("namespace").as_deref(), name))
}

/// A function has no grammar, so the model is told of it.
fn custom_description<'a>(members: &Members<'a>) -> Option<Cow<'a, str>> {
    let description = members.string("description");
    let format = members.get("format").and_then(Members::of).unwrap_or_default();
    // Chat completions have it one deeper.
    let nested = format.get("grammar").and_then(Members::of);
    let grammar = nested.as_ref().unwrap_or(&format);
    let Some(definition) = grammar.string("definition") else {
        return description;
    };
    let syntax = grammar.string("syntax").unwrap_or_default();
    let told = format!("`input` is free text, not JSON, and must match this {syntax} grammar:\n\n{definition}");
    Some(match description {
        Some(description) if !description.is_empty() => format!("{description}\n\n{told}").into(),
        _ => told.into(),
    })
}
