//! Edits of JSON that keep comments, order and white space.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::{Applied, Edit, EditError, contains};

/// JSON with comments and trailing commas. Other extensions would be read by no client.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const OBJECT: &str = "an object";

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| EditError::Invalid(error.to_string()))
}

/// The settings of a text, or nothing if it is not valid.
pub(super) fn value(text: &str) -> Option<Value> {
    match parse(text).ok()?.value() {
        Some(value) => value.to_serde_value(),
        None => Some(Value::Null),
    }
}

/// Applies an edit. Returns nothing if the text contains it.
pub(super) fn apply(text: &str, edit: &Edit) -> Result<Option<(String, Applied)>, EditError> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or_else(|| EditError::shape(&[], OBJECT))?;
    let applied = apply_in(object, edit)?;
    let mut edited = root.to_string();
    if text.trim().is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    Ok(applied.map(|applied| (edited, applied)))
}

fn apply_in(mut object: CstObject, edit: &Edit) -> Result<Option<Applied>, EditError> {
    let Some((last, parents)) = edit.keys.split_last() else {
        return Ok(None);
    };
    let mut existing = 0;
    for (depth, key) in parents.iter().enumerate() {
        existing += usize::from(object.get(key).is_some());
        object = object.object_value_or_create(key).ok_or_else(|| EditError::shape(&edit.keys[..=depth], OBJECT))?;
    }
    existing += usize::from(object.get(last).is_some());
    let mut previous = None;
    if edit.append {
        let list = object.array_value_or_create(last).ok_or_else(|| EditError::shape(&edit.keys, "a list"))?;
        if list.elements().iter().any(|element| is_ours(element, &edit.value)) {
            return Ok(None);
        }
        list.append(input(&edit.value));
    } else if let Some(property) = object.get(last) {
        let value = property.value();
        if value.as_ref().is_some_and(|value| is_ours(value, &edit.value)) {
            return Ok(None);
        }
        previous = value.map(|value| value.to_string());
        property.set_value(input(&edit.value));
    } else {
        object.append(last, input(&edit.value));
    }
    Ok(Some(Applied::new(edit, existing, previous)))
}

/// Takes an edit back. Returns nothing if its value was changed since.
pub(super) fn undo(text: &str, applied: &Applied) -> Result<Option<String>, EditError> {
    let root = parse(text)?;
    let is_undone = root.object_value().is_none_or(|object| undo_in(object, applied));
    Ok(is_undone.then(|| root.to_string()))
}

fn undo_in(root: CstObject, applied: &Applied) -> bool {
    let Some((last, parents)) = applied.edit.keys.split_last() else {
        return true;
    };
    let mut objects = vec![root];
    for key in parents {
        match objects.last().and_then(|object| object.object_value(key)) {
            Some(object) => objects.push(object),
            None => break,
        }
    }
    if objects.len() > parents.len()
        && let Some(object) = objects.last()
        && let Some(property) = object.get(last)
    {
        if applied.edit.append {
            let elements = property.array_value().map(|list| list.elements()).unwrap_or_default();
            if let Some(element) = elements.into_iter().find(|element| is_ours(element, &applied.edit.value)) {
                element.remove();
            }
            let is_empty = property.array_value().is_some_and(|list| is_bare(&list.children()));
            if is_empty && applied.existing <= parents.len() {
                property.remove();
            }
        } else {
            let is_ours = property.value().is_some_and(|value| is_ours(&value, &applied.edit.value));
            if !is_ours {
                return false;
            }
            match applied.previous.as_deref().and_then(|text| parse(text).ok()?.to_serde_value()) {
                Some(previous) => property.set_value(input(&previous)),
                None => property.remove(),
            }
        }
    }
    for (key, object) in parents.iter().zip(&objects).skip(applied.existing).rev() {
        if let Some(property) = object.get(key)
            && property.object_value().is_some_and(|child| is_bare(&child.children()))
        {
            property.remove();
        }
    }
    true
}

fn is_ours(node: &CstNode, ours: &Value) -> bool {
    node.to_serde_value().is_some_and(|value| contains(&value, ours))
}

/// Whether a container has neither members nor comments.
fn is_bare(children: &[CstNode]) -> bool {
    children.iter().all(|child| child.is_whitespace() || child.is_newline() || child.is_token())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
