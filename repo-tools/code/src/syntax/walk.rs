//! One pass over a syntax tree that collects definitions, references and imports.
//!
//! The pass uses a cursor and explicit stacks, so a file with a million nested brackets needs heap memory but no deep
//! call stack.

use muninn_base::Until;
use tree_sitter::{Node, Tree, TreeCursor};

use super::imports::{self, ImportForm};
use super::limits::ParseLimits;
use super::parsed::{Definition, DefinitionKind, Import, Lines, Parsed, Reference, ReferenceKind};
use super::resolve::Resolved;
use super::spec::When;
use super::table::{Child, DefRule, Entry, Table, field_flag, flag};

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 200;
/// Number of nodes between two checks of the deadline.
const NODES_PER_CHECK: u32 = 4096;
/// Names whose meaning depends on the context. They are not useful as references.
const PRONOUNS: &[&str] = &["self", "Self", "this", "super", "static", "parent", "base", "_"];

pub(super) fn walk(table: &Table, tree: &Tree, source: &str, limits: &ParseLimits<'_>, until: &Until) -> Parsed {
    let mut walker = Walker {
        table,
        source,
        limits,
        out: Parsed { broken: tree.root_node().has_error(), ..Parsed::default() },
        levels: vec![Level::default()],
        open: Vec::new(),
        last_name: usize::MAX,
    };
    let mut cursor = tree.walk();
    let mut nodes = 0u32;
    loop {
        nodes = nodes.wrapping_add(1);
        if nodes.is_multiple_of(NODES_PER_CHECK) && until.is_over() || walker.is_full() {
            walker.out.cut = true;
            break;
        }
        let descend = walker.enter(&cursor);
        if descend.is_some() && cursor.goto_first_child() {
            walker.levels.push(descend.unwrap_or_default());
            continue;
        }
        walker.leave();
        if !walker.advance(&mut cursor) {
            break;
        }
    }
    walker.finish()
}

struct Walker<'a> {
    table: &'a Table,
    source: &'a str,
    limits: &'a ParseLimits<'a>,
    out: Parsed,
    /// One level for each node from the root to the current node.
    levels: Vec<Level>,
    /// The enclosing definitions and anonymous functions.
    open: Vec<Scope>,
    /// The start of the latest definition's name, which is no reference.
    last_name: usize,
}

/// The state of one level of siblings.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// The parent's flags, with `TYPE_PARENT` if its field names types.
    flags: u16,
    /// The first and last row of the comments and attributes directly before the current node.
    pending: Option<(usize, usize)>,
    /// The first row of the node that wraps the next definition.
    inherited: Option<usize>,
}

struct Scope {
    depth: usize,
    /// `None` for an anonymous function.
    definition: Option<u32>,
    kind: Option<DefinitionKind>,
    name_start: usize,
}

impl Walker<'_> {
    /// Moves to the next node that is not a descendant; `false` at the end.
    fn advance(&mut self, cursor: &mut TreeCursor<'_>) -> bool {
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            self.levels.pop();
            self.leave();
        }
        true
    }

    fn leave(&mut self) {
        while self.open.last().is_some_and(|open| open.depth >= self.levels.len()) {
            self.open.pop();
        }
    }

    /// Collects from a node. Returns the level of its children if they are to be visited.
    fn enter(&mut self, cursor: &TreeCursor<'_>) -> Option<Level> {
        let node = cursor.node();
        let entry = self.table.entry(node);
        if entry.flags & flag::NAMED == 0 {
            // Error nodes are named, but have no entry in the table.
            return node.is_error().then(Level::default);
        }
        if entry.flags & flag::COMMENT != 0 {
            self.comment(node);
            return None;
        }
        if entry.flags & flag::NAME != 0 {
            self.level().pending = None;
            self.name(cursor, node, entry);
            return (entry.flags & (flag::SKIP | flag::TYPE | flag::IDENTIFIER) == 0).then(Level::default);
        }
        let mut level = Level { flags: entry.flags, ..Level::default() };
        if entry.flags & flag::ATTRIBUTE != 0 {
            self.note_pending(node);
        } else {
            let pending = self.level().pending.take();
            if entry.definition != 0 || entry.flags & flag::WRAPPER != 0 {
                let first = self.first_row(node, pending);
                let opened = match self.table.definition(entry) {
                    Some(rule) => self.define(node, rule, first),
                    None => false,
                };
                level.inherited = (!opened).then_some(first);
            }
        }
        if let Some(form) = entry.import
            && self.import(form, node)
        {
            return None;
        }
        if entry.call != 0 {
            self.call(node, entry);
        }
        if entry.flags & flag::FUNCTION != 0 {
            self.open.push(Scope { depth: self.levels.len(), definition: None, kind: None, name_start: usize::MAX });
        }
        if self.table.has_field_flags && self.table.field_flags(cursor.field_id()) & field_flag::TYPE != 0 {
            level.flags |= flag::TYPE_PARENT;
        }
        (entry.flags & flag::SKIP == 0).then_some(level)
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    /// Counts a comment, and records it for a definition that can follow it. A comment after code on the same line is ignored.
    fn comment(&mut self, node: Node<'_>) {
        if self.begins_its_line(node) {
            let (first, last) = rows(node);
            let lines = u32::try_from(last + 1 - first).unwrap_or(u32::MAX);
            self.out.comment_lines = self.out.comment_lines.saturating_add(lines);
            self.note_pending(node);
        }
    }

    fn begins_its_line(&self, node: Node<'_>) -> bool {
        let before = &self.source.as_bytes()[..node.start_byte()];
        let line = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        before[line..].iter().all(u8::is_ascii_whitespace)
    }

    fn note_pending(&mut self, node: Node<'_>) {
        let (first, last) = rows(node);
        let level = self.level();
        level.pending = match level.pending {
            Some((start, end)) if first <= end + 1 => Some((start, last)),
            _ => Some((first, last)),
        };
    }

    /// Returns the first row of a definition, including its comments and wrapper.
    fn first_row(&mut self, node: Node<'_>, pending: Option<(usize, usize)>) -> usize {
        let own = node.start_position().row;
        let commented = pending.filter(|(_, last)| last + 1 >= own).map_or(own, |(first, _)| first);
        let inherited = self.level().inherited.take();
        inherited.map_or(commented, |outer| outer.min(commented)).min(own)
    }

    fn text(&self, node: Node<'_>) -> &str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    fn inside(&self) -> Option<u32> {
        self.open.iter().rev().find_map(|open| open.definition)
    }

    /// Adds a definition and opens its scope. Returns `false` if the node is not a definition.
    fn define(&mut self, node: Node<'_>, rule: &DefRule, first: usize) -> bool {
        let body = self.table.body.of(node);
        let value = rule.value.of(node);
        let function = value.is_some_and(|value| self.table.entry(value).flags & flag::FUNCTION != 0);
        if !self.holds(rule.when, body.is_some(), function) {
            if let Some(form) = rule.otherwise {
                self.import(form, node);
            }
            return false;
        }
        let Some(resolved) = rule.name.of(node).and_then(|name| self.table.resolve(name)) else {
            return false;
        };
        let name = self.text(resolved.name).trim_start_matches('$');
        if name.is_empty() || name.len() > MAX_NAME || name.contains('\n') {
            return false;
        }
        let receiver = self.receiver(node, rule, &resolved);
        let kind = self.kind(rule, node, name, function || resolved.function, receiver.is_some());
        let (start, end) = rows(node);
        let name_row = resolved.name.start_position().row;
        let body = body.or_else(|| self.table.body.of(value?));
        let definition = Definition {
            name: name.into(),
            kind,
            parent: self.inside(),
            receiver,
            lines: Lines { first: number(first), last: number(end) },
            declared: number(start),
            name_line: number(name_row),
            signature_last: number(self.signature_last(start.max(name_row), body)),
        };
        let index = u32::try_from(self.out.definitions.len()).unwrap_or(u32::MAX);
        self.out.definitions.push(definition);
        self.last_name = resolved.name.start_byte();
        let is_leaf = matches!(kind, DefinitionKind::TypeAlias | DefinitionKind::Field | DefinitionKind::Prototype);
        if !is_leaf || function {
            self.open.push(Scope {
                depth: self.levels.len(),
                definition: Some(index),
                kind: Some(kind),
                // The name of an `impl` is a reference to its type.
                name_start: if kind == DefinitionKind::Impl { usize::MAX } else { self.last_name },
            });
        }
        if kind == DefinitionKind::Impl {
            self.last_name = usize::MAX;
        }
        true
    }

    fn holds(&self, when: When, body: bool, function: bool) -> bool {
        let around = self.open.last();
        let local = around.is_some_and(|open| open.kind.is_none_or(DefinitionKind::is_callable));
        match when {
            When::Always => true,
            When::Body => body,
            When::Outside => !local,
            When::Member => around.is_some_and(|open| open.kind.is_some_and(DefinitionKind::is_type)),
            When::Function => function,
            When::FunctionOrOutside => function || !local,
        }
    }

    fn receiver(&self, node: Node<'_>, rule: &DefRule, resolved: &Resolved<'_>) -> Option<Box<str>> {
        if let Some(receiver) = rule.receiver.of(node) {
            return Some(self.text(self.table.resolve(receiver)?.name).into());
        }
        if rule.kind == DefinitionKind::Impl {
            return None;
        }
        let qualifier = resolved.qualifier?;
        let mut text = self.text(qualifier);
        if text == "prototype" {
            // `A.prototype.f = ...` belongs to `A`.
            let owner = qualifier.parent().and_then(|member| member.child_by_field_name("object"))?;
            text = self.text(self.table.resolve(owner)?.name);
        }
        (!["exports", "module", "this", "window", "self"].contains(&text)).then(|| text.into())
    }

    fn kind(&self, rule: &DefRule, node: Node<'_>, name: &str, function: bool, receiver: bool) -> DefinitionKind {
        let around = self.open.last().and_then(|open| open.kind);
        let in_type = receiver || around.is_some_and(DefinitionKind::is_type);
        let upper = name.len() > 1
            && name.bytes().any(|b| b.is_ascii_uppercase())
            && !name.bytes().any(|b| b.is_ascii_lowercase());
        match rule.kind {
            DefinitionKind::TypeAlias => match self.table.kind_of_type.of(node).map(|of| of.kind()) {
                Some("struct_type") => DefinitionKind::Struct,
                Some("interface_type") => DefinitionKind::Interface,
                _ => DefinitionKind::TypeAlias,
            },
            // Some grammars separate declarations from definitions. In these grammars the node is a declaration.
            DefinitionKind::Variable | DefinitionKind::Field if function && matches!(rule.value, Child::None) => {
                DefinitionKind::Prototype
            }
            DefinitionKind::Function | DefinitionKind::Variable | DefinitionKind::Field
                if function || rule.kind == DefinitionKind::Function =>
            {
                if in_type {
                    DefinitionKind::Method
                } else {
                    DefinitionKind::Function
                }
            }
            DefinitionKind::Variable if upper => DefinitionKind::Constant,
            DefinitionKind::Variable if in_type => DefinitionKind::Field,
            other => other,
        }
    }

    /// Returns the last row of the signature: the row before the body, or the row of the name without a body.
    fn signature_last(&self, named: usize, body: Option<Node<'_>>) -> usize {
        let Some(body) = body else {
            return named;
        };
        let row = body.start_position().row;
        let own_line = self.begins_its_line(body);
        if own_line { row.saturating_sub(1).max(named) } else { row.max(named) }
    }

    fn import(&mut self, form: ImportForm, node: Node<'_>) -> bool {
        let found = imports::read(form, node, self.source);
        let any = !found.is_empty();
        for import in found {
            self.add_import(import);
        }
        any
    }

    fn add_import(&mut self, import: Import) {
        for imported in &import.names {
            if !["*", "default"].contains(&&*imported.name) {
                self.push(&imported.name, ReferenceKind::Import, None, import.line);
            }
        }
        self.out.imports.push(import);
    }

    fn call(&mut self, node: Node<'_>, entry: Entry) {
        // In a member call, callee and qualifier are different children.
        let target = if entry.access != 0 { Some(node) } else { self.table.callee(entry, node) };
        let Some(resolved) = target.and_then(|target| self.table.resolve(target)) else {
            return;
        };
        let source = self.source;
        let name = source.get(resolved.name.byte_range()).unwrap_or_default();
        if resolved.qualifier.is_none()
            && let Some(import) = imports::of_call(name, node, source)
        {
            self.add_import(import);
            return;
        }
        let html = name.starts_with(|c: char| c.is_ascii_lowercase()) && node.kind().starts_with("jsx_");
        if html || name.starts_with('$') {
            return;
        }
        let qualifier = resolved.qualifier.and_then(|node| source.get(node.byte_range()));
        let line = number(resolved.name.start_position().row);
        self.push(name, ReferenceKind::Call, qualifier, line);
    }

    /// Adds a leaf that is a reference.
    fn name(&mut self, cursor: &TreeCursor<'_>, node: Node<'_>, entry: Entry) {
        let start = node.start_byte();
        if entry.flags & (flag::TYPE | flag::IDENTIFIER) == 0 || start == self.last_name {
            return;
        }
        if self.open.last().is_some_and(|open| open.name_start == start) {
            return;
        }
        let source = self.source;
        let text = source.get(node.byte_range()).unwrap_or_default();
        let parent = self.level().flags;
        let kind = if entry.flags & flag::TYPE != 0 || parent & flag::TYPE_PARENT != 0 {
            ReferenceKind::Type
        } else if parent & flag::TOKEN_PARENT != 0 && source.as_bytes().get(node.end_byte()) == Some(&b'(') {
            ReferenceKind::Call
        } else if self.table.has_field_flags && self.names_type(cursor, text) {
            ReferenceKind::Type
        } else if self.limits.identifiers {
            ReferenceKind::Other
        } else {
            return;
        };
        // A type name of one letter is a type parameter.
        if kind == ReferenceKind::Type && text.len() < 2 {
            return;
        }
        self.push(text, kind, None, number(node.start_position().row));
    }

    fn names_type(&self, cursor: &TreeCursor<'_>, text: &str) -> bool {
        let flags = self.table.field_flags(cursor.field_id());
        flags & field_flag::TYPE != 0 || flags & field_flag::UPPER != 0 && text.starts_with(|c: char| c.is_uppercase())
    }

    fn push(&mut self, name: &str, kind: ReferenceKind, qualifier: Option<&str>, line: u32) {
        if name.is_empty() || name.len() > MAX_NAME || self.limits.only.is_some_and(|only| only != name) {
            return;
        }
        if PRONOUNS.contains(&name) || self.table.builtins.contains(&name) && self.limits.only.is_none() {
            return;
        }
        self.out.references.push(Reference {
            name: name.into(),
            kind,
            qualifier: qualifier.filter(|text| text.len() <= MAX_NAME).map(Into::into),
            inside: self.inside(),
            line,
        });
    }

    fn is_full(&self) -> bool {
        self.out.definitions.len() > self.limits.max_items || self.out.references.len() > self.limits.max_items
    }

    /// Sorts the references by line. Each name is kept once per line, with its most relevant use.
    fn finish(mut self) -> Parsed {
        let references = &mut self.out.references;
        references.sort_by(|a, b| (a.line, &a.name, a.kind).cmp(&(b.line, &b.name, b.kind)));
        references.dedup_by(|later, earlier| later.line == earlier.line && later.name == earlier.name);
        self.out
    }
}

/// Returns the first and last row of a node. A line comment can include the line break, which belongs to the next row.
fn rows(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position().row, node.end_position());
    let last = if end.column == 0 { end.row.saturating_sub(1) } else { end.row };
    (start, last.max(start))
}

/// Converts a row to a line number, counted from 1.
fn number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1).saturating_add(1)
}
