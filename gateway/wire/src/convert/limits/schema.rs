//! Schemas of tools. MCP servers write any JSON Schema; vendors accept an object with properties and, at its top, no
//! alternatives.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::value::RawValue;

use super::super::empty_schema;
use crate::Members;

/// The rules of a format for the schema of a tool. All vendors require the type `object`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Keywords that the top must not have. OpenAI: "schema must have type 'object' and not have
    /// 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level". Anthropic: "input_schema does not support oneOf, allOf, or anyOf at
    /// the top level".
    not_at_top: &'static [&'static str],
    /// Whether each array needs `items`. OpenAI: "array schema missing items".
    items: bool,
    /// Whether the names of the properties at the top must match `^[a-zA-Z0-9_.-]{1,64}$`. Anthropic: "Property keys should match
    /// pattern".
    plain_names: bool,
}

impl Rules {
    pub(super) const OPENAI: Rules =
        Rules { not_at_top: &["allOf", "anyOf", "oneOf", "enum", "not"], items: true, plain_names: false };
    pub(super) const ANTHROPIC: Rules =
        Rules { not_at_top: &["allOf", "anyOf", "oneOf"], items: false, plain_names: true };
}

/// The longest name of a property at the top.
const LONGEST_NAME: usize = 64;

/// The deepest nesting in which a schema is read.
const DEEPEST: usize = 64;

/// Keywords whose members are schemas, whose elements are, and that are one.
const MAPS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const SINGLE: [&str; 8] = ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];

/// A schema whose keywords are in their order. What is no schema stays the client's text.
#[derive(Clone)]
enum Node<'a> {
    Raw(&'a RawValue),
    Object(Vec<(String, Node<'a>)>),
    List(Vec<Node<'a>>),
    /// Names of properties.
    Names(BTreeSet<String>),
}

/// Returns a schema that the vendors accept, and the names of what was changed. The text of a schema without a fault stays as it
/// is.
pub(super) fn fit<'a>(
    schema: Option<Cow<'a, RawValue>>,
    rules: Rules,
) -> (Option<Cow<'a, RawValue>>, Vec<&'static str>) {
    let Some(schema) = schema else { return (None, Vec::new()) };
    let mut changed = Vec::new();
    let Node::Object(mut top) = Node::of(&schema, 0, rules, &mut changed) else {
        return (Some(Cow::Borrowed(empty_schema())), vec!["type"]);
    };
    fit_top(&mut top, rules, &mut changed);
    if changed.is_empty() {
        return (Some(schema), changed);
    }
    let written = serde_json::value::to_raw_value(&Node::Object(top));
    (Some(written.map_or(schema, Cow::Owned)), changed)
}

impl<'a> Node<'a> {
    fn of(raw: &'a RawValue, depth: usize, rules: Rules, changed: &mut Vec<&'static str>) -> Node<'a> {
        let Some(members) = Members::of(raw.get()).filter(|_| depth < DEEPEST) else { return Node::Raw(raw) };
        let mut keywords = Vec::new();
        for (name, value) in members.iter() {
            let mut nested = |value| Node::of(value, depth + 1, rules, changed);
            let node = match name {
                name if MAPS.contains(&name) => match Members::of(value.get()) {
                    Some(map) => Node::Object(map.iter().map(|(key, one)| (key.to_owned(), nested(one))).collect()),
                    None => Node::Raw(value),
                },
                name if LISTS.contains(&name) => match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
                    Ok(list) => Node::List(list.into_iter().map(nested).collect()),
                    Err(_) => Node::Raw(value),
                },
                name if SINGLE.contains(&name) => nested(value),
                _ => Node::Raw(value),
            };
            keywords.push((name.to_owned(), node));
        }
        if rules.items && is_array(&members) && members.get("items").is_none() {
            changed.push("items");
            keywords.push(("items".to_owned(), Node::Object(Vec::new())));
        }
        Node::Object(keywords)
    }

    fn members(&self) -> &[(String, Node<'a>)] {
        match self {
            Node::Object(members) => members,
            _ => &[],
        }
    }

    fn member(&self, name: &str) -> Option<&Node<'a>> {
        self.members().iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    fn elements(&self) -> &[Node<'a>] {
        match self {
            Node::List(elements) => elements,
            _ => &[],
        }
    }

    /// The names that `required` lists.
    fn required(&self) -> BTreeSet<String> {
        match self.member("required") {
            Some(Node::Raw(raw)) => serde_json::from_str(raw.get()).unwrap_or_default(),
            Some(Node::Names(names)) => names.clone(),
            _ => BTreeSet::new(),
        }
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Raw(raw) => raw.serialize(serializer),
            Node::List(elements) => elements.serialize(serializer),
            Node::Names(names) => names.serialize(serializer),
            Node::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, node) in members {
                    map.serialize_entry(name, node)?;
                }
                map.end()
            }
        }
    }
}

/// Returns whether a schema's type is an array, perhaps among others.
fn is_array(schema: &Members<'_>) -> bool {
    let types: Option<Vec<String>> = schema.parse("type");
    schema.string("type").as_deref() == Some("array")
        || types.is_some_and(|types| types.iter().any(|one| one == "array"))
}

/// Makes the top an object with properties. Alternatives give it their properties, and require what all of them require.
fn fit_top(top: &mut Vec<(String, Node<'_>)>, rules: Rules, changed: &mut Vec<&'static str>) {
    match top.iter_mut().find(|(name, _)| name == "type") {
        Some((_, Node::Raw(kind))) if kind.get() == "\"object\"" => {}
        Some((_, kind)) => {
            *kind = literal("\"object\"");
            changed.push("type");
        }
        None => {
            top.insert(0, ("type".to_owned(), literal("\"object\"")));
            changed.push("type");
        }
    }
    let whole = Node::Object(top.clone());
    // A schema that only refers to one of its definitions is this definition.
    if let Some(Node::Raw(_)) = whole.member("$ref") {
        merge(top, &[resolved(&whole, &whole)], true);
        top.retain(|(name, _)| name != "$ref");
        changed.push("ref");
    }
    for keyword in rules.not_at_top {
        if let Some(node) = whole.member(keyword) {
            let branches: Vec<&Node<'_>> = node.elements().iter().map(|branch| resolved(branch, &whole)).collect();
            merge(top, &branches, *keyword == "allOf");
            top.retain(|(name, _)| name != keyword);
            changed.push(keyword);
        }
    }
    let is_map = |node: &Node<'_>| matches!(node, Node::Object(_));
    match top.iter_mut().find(|(name, _)| name == "properties") {
        Some((_, properties)) if is_map(properties) => {}
        Some((_, properties)) => {
            *properties = Node::Object(Vec::new());
            changed.push("properties");
        }
        None => {
            top.push(("properties".to_owned(), Node::Object(Vec::new())));
            changed.push("properties");
        }
    }
    if rules.plain_names {
        drop_names(top, changed);
    }
}

/// A branch, or the definition of the same schema that it refers to.
fn resolved<'n, 'a>(branch: &'n Node<'a>, whole: &'n Node<'a>) -> &'n Node<'a> {
    let Some(Node::Raw(reference)) = branch.member("$ref") else { return branch };
    let path: String = serde_json::from_str(reference.get()).unwrap_or_default();
    let mut steps = path.trim_start_matches("#/").split('/');
    match (steps.next(), steps.next(), steps.next()) {
        (Some(map), Some(name), None) => whole.member(map).and_then(|map| map.member(name)).unwrap_or(branch),
        _ => branch,
    }
}

/// Adds the properties of branches to the top. Of a name that several have, the first counts. With `all`, what any branch
/// requires is required.
fn merge<'a>(top: &mut Vec<(String, Node<'a>)>, branches: &[&Node<'a>], all: bool) {
    let whole = Node::Object(top.clone());
    let mut properties = whole.member("properties").map(|map| map.members().to_vec()).unwrap_or_default();
    let mut known: BTreeSet<String> = properties.iter().map(|(name, _)| name.clone()).collect();
    for (name, node) in branches.iter().filter_map(|branch| branch.member("properties")).flat_map(Node::members) {
        if known.insert(name.clone()) {
            properties.push((name.clone(), node.clone()));
        }
    }
    let each = branches.iter().map(|branch| branch.required());
    let theirs =
        if all { each.flatten().collect() } else { each.reduce(|one, other| &one & &other).unwrap_or_default() };
    let mut required = whole.required();
    required.extend(theirs);
    required.retain(|name| known.contains(name));
    set(top, "properties", Node::Object(properties));
    if !required.is_empty() {
        set(top, "required", Node::Names(required));
    }
}

fn set<'a>(members: &mut Vec<(String, Node<'a>)>, name: &str, node: Node<'a>) {
    match members.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => *known = node,
        None => members.push((name.to_owned(), node)),
    }
}

/// Leaves out properties whose names the vendor refuses.
fn drop_names(top: &mut Vec<(String, Node<'_>)>, changed: &mut Vec<&'static str>) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let fits = |name: &str| (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(plain);
    let whole = Node::Object(top.clone());
    let Some(properties) = whole.member("properties").filter(|map| map.members().iter().any(|(name, _)| !fits(name)))
    else {
        return;
    };
    let kept = properties.members().iter().filter(|(name, _)| fits(name)).cloned().collect();
    let required: BTreeSet<String> = whole.required().into_iter().filter(|name| fits(name)).collect();
    set(top, "properties", Node::Object(kept));
    if whole.member("required").is_some() {
        set(top, "required", Node::Names(required));
    }
    changed.push("properties");
}

fn literal<'a>(json: &'static str) -> Node<'a> {
    serde_json::from_str(json).map_or(Node::List(Vec::new()), Node::Raw)
}
