//! Edits of TOML that keep comments, order and white space.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, TomlError};

use super::{Applied, Edit, EditError, contains};

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    if has_carriage_returns(text) && text.replace("\r\n", "").contains('\n') {
        return Err(EditError::Invalid("some lines end with CR LF and others with LF".to_owned()));
    }
    text.parse().map_err(|error: TomlError| {
        let line = error.span().and_then(|span| text.get(..span.start));
        let line = line.map_or(1, |before| before.matches('\n').count() + 1);
        EditError::Invalid(format!("line {line}: {}", error.message().trim_end()))
    })
}

fn has_carriage_returns(text: &str) -> bool {
    text.contains("\r\n")
}

/// The text of a document that was parsed from `text`, with the same line ends: toml_edit writes LF only.
fn print(document: &DocumentMut, text: &str) -> String {
    let printed = document.to_string();
    if has_carriage_returns(text) { printed.replace("\r\n", "\n").replace('\n', "\r\n") } else { printed }
}

/// The settings of a text, or nothing if it is not valid.
pub(super) fn value(text: &str) -> Option<toml::Table> {
    text.parse().ok()
}

/// Applies an edit. Returns nothing if the text contains it.
pub(super) fn apply(text: &str, edit: &Edit) -> Result<Option<(String, Applied)>, EditError> {
    let mut document = parse(text)?;
    let applied = apply_in(document.as_table_mut(), edit)?;
    Ok(applied.map(|applied| (print(&document, text), applied)))
}

fn apply_in(root: &mut dyn TableLike, edit: &Edit) -> Result<Option<Applied>, EditError> {
    let Some((last, parents)) = edit.keys.split_last() else {
        return Ok(None);
    };
    let mut table = root;
    let mut existing = 0;
    for (depth, key) in parents.iter().enumerate() {
        existing += usize::from(table.contains_key(key));
        let child = table.entry(key).or_insert_with(|| {
            let mut parent = Table::new();
            parent.set_implicit(true);
            Item::Table(parent)
        });
        table = child.as_table_like_mut().ok_or_else(|| EditError::shape(&edit.keys[..=depth], "a table"))?;
    }
    let old = table.get(last);
    existing += usize::from(old.is_some());
    if old.is_some_and(|old| is_ours(old, &edit.value)) {
        return Ok(None);
    }
    let value = old.and_then(Item::as_value).cloned();
    let previous = value.map(|value| value.decorated("", "").to_string());
    let new = item(&edit.value);
    match table.get_mut(last) {
        Some(old) => replace(old, new),
        None => drop(table.insert(last, new)),
    }
    Ok(Some(Applied::new(edit, existing, previous)))
}

/// Replaces a value, and keeps a comment behind it.
fn replace(old: &mut Item, mut new: Item) {
    if let (Some(old), Some(new)) = (old.as_value(), new.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    *old = new;
}

/// Takes an edit back. Returns nothing if its value was changed since.
pub(super) fn undo(text: &str, applied: &Applied) -> Result<Option<String>, EditError> {
    let mut document = parse(text)?;
    let is_undone = undo_in(document.as_table_mut(), applied, 0);
    Ok(is_undone.then(|| print(&document, text)))
}

/// Takes an edit back below the key at `depth`. Returns false if its value was changed since.
fn undo_in(table: &mut dyn TableLike, applied: &Applied, depth: usize) -> bool {
    let keys = &applied.edit.keys;
    let Some(key) = keys.get(depth) else { return true };
    let Some(child) = table.get_mut(key) else { return true };
    if depth + 1 < keys.len() {
        let Some(inner) = child.as_table_like_mut() else {
            return true;
        };
        let undone = undo_in(inner, applied, depth + 1);
        if inner.is_empty() && depth >= applied.existing {
            table.remove(key);
        }
        return undone;
    }
    if !is_ours(child, &applied.edit.value) {
        return false;
    }
    let previous = applied.previous.as_deref().and_then(|text| text.parse().ok());
    match previous {
        Some(previous) => replace(child, Item::Value(previous)),
        None => drop(table.remove(key)),
    }
    true
}

fn is_ours(item: &Item, ours: &Value) -> bool {
    contains(&value_of(item), ours)
}

fn value_of(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let members = table.iter().map(|(key, item)| (key.to_owned(), value_of(item)));
        return Value::Object(members.collect());
    }
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => Value::from(text.value().as_str()),
        Some(toml_edit::Value::Integer(number)) => Value::from(*number.value()),
        Some(toml_edit::Value::Boolean(flag)) => Value::from(*flag.value()),
        Some(toml_edit::Value::Array(list)) => {
            let elements = list.iter().map(|value| value_of(&Item::Value(value.clone())));
            Value::Array(elements.collect())
        }
        _ => Value::Null,
    }
}

/// The settings of clients have texts, flags, whole numbers, lists and tables.
fn item(value: &Value) -> Item {
    match value {
        Value::Object(members) => {
            let mut table = Table::new();
            for (key, value) in members {
                table.insert(key, item(value));
            }
            Item::Table(table)
        }
        value => Item::Value(inline(value)),
    }
}

fn inline(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        Value::String(text) => text.into(),
        Value::Array(values) => toml_edit::Value::Array(values.iter().map(inline).collect::<Array>()),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key, inline(value)));
            toml_edit::Value::InlineTable(members.collect::<InlineTable>())
        }
        Value::Null => "".into(),
    }
}
