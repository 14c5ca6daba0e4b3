//! The compiled tables of `spec/`: one lookup for each node of a tree.

use std::num::NonZeroU16;
use std::sync::OnceLock;

use tree_sitter::Node;

use super::imports::ImportForm;
use super::language::Language;
use super::parsed::DefinitionKind;
use super::spec::{self, Def, Spec, When};

/// The flags of an [`Entry`].
pub(super) mod flag {
    pub(crate) const NAMED: u16 = 1;
    /// A leaf that names a type.
    pub(crate) const TYPE: u16 = 2;
    /// A leaf that names anything.
    pub(crate) const IDENTIFIER: u16 = 4;
    /// A node that is a name or a qualifier as a whole.
    pub(crate) const WHOLE: u16 = 8;
    /// A parent whose identifiers name types.
    pub(crate) const TYPE_PARENT: u16 = 16;
    /// A parent whose identifiers can be calls.
    pub(crate) const TOKEN_PARENT: u16 = 32;
    /// An anonymous function.
    pub(crate) const FUNCTION: u16 = 64;
    /// A node whose children are skipped.
    pub(crate) const SKIP: u16 = 128;
    /// A node that belongs to the definition after it, or inside it.
    pub(crate) const COMMENT: u16 = 256;
    pub(crate) const ATTRIBUTE: u16 = 512;
    pub(crate) const WRAPPER: u16 = 1024;
    /// C declarators: one makes the name a function, and one reverts that.
    pub(crate) const FUNCTION_DECLARATOR: u16 = 2048;
    pub(crate) const PARENTHESES: u16 = 4096;
    /// Any of the three kinds of names.
    pub(crate) const NAME: u16 = TYPE | IDENTIFIER | WHOLE;
}

pub(super) mod field_flag {
    /// The field's identifiers name types.
    pub(crate) const TYPE: u8 = 1;
    /// The field's capitalised identifiers name types.
    pub(crate) const UPPER: u8 = 2;
}

/// The meaning of a node kind. Each index is a position plus one; zero means that there is no entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) flags: u16,
    pub(super) definition: u8,
    pub(super) call: u8,
    pub(super) access: u8,
    pub(super) import: Option<ImportForm>,
}

/// A selector of a node's child.
#[derive(Debug, Clone, Copy)]
pub(super) enum Child {
    None,
    First,
    Last,
    Field(NonZeroU16),
}

/// A compiled [`Def`].
#[derive(Debug, Clone, Copy)]
pub(super) struct DefRule {
    pub(super) kind: DefinitionKind,
    pub(super) name: Child,
    pub(super) when: When,
    pub(super) value: Child,
    pub(super) receiver: Child,
    pub(super) otherwise: Option<ImportForm>,
}

pub(super) struct Table {
    entries: Box<[Entry]>,
    fields: Box<[u8]>,
    definitions: Vec<DefRule>,
    calls: Vec<Child>,
    access: Vec<(Child, Child)>,
    pub(super) body: Child,
    /// The right side of a Go type declaration, which decides its kind.
    pub(super) kind_of_type: Child,
    pub(super) builtins: &'static [&'static str],
    /// Whether any field has field flags.
    pub(super) has_field_flags: bool,
}

/// Returns the table of a language, compiling it on first use.
pub(super) fn of(language: Language) -> &'static Table {
    static TABLES: [OnceLock<Table>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];
    TABLES[language as usize].get_or_init(|| Table::new(language, spec::of(language)))
}

impl Table {
    fn new(language: Language, spec: &'static Spec) -> Self {
        let grammar = language.grammar();
        let field = |name: &str| match name {
            "-" => Child::None,
            "" => Child::First,
            "$" => Child::Last,
            name => grammar.field_id_for_name(name).map_or(Child::None, Child::Field),
        };
        let entries = (0..grammar.node_kind_count()).map(|id| {
            let id = u16::try_from(id).unwrap_or(u16::MAX);
            let kind = grammar.node_kind_for_id(id).unwrap_or_default();
            if grammar.node_kind_is_named(id) { entry(spec, kind) } else { Entry::default() }
        });
        let field_flags = (0..=grammar.field_count()).map(|id| {
            let name = grammar.field_name_for_id(u16::try_from(id).unwrap_or(0));
            let among = |list: &[&str]| name.is_some_and(|name| list.contains(&name));
            u8::from(among(spec.type_fields)) * field_flag::TYPE
                + u8::from(among(spec.upper_fields)) * field_flag::UPPER
        });
        let definition = |def: &Def| DefRule {
            kind: def.kind,
            name: field(def.name),
            when: def.when,
            value: field(def.value),
            receiver: field(def.receiver),
            otherwise: def.otherwise,
        };
        Self {
            entries: entries.collect(),
            fields: field_flags.collect(),
            definitions: spec.definitions.iter().map(definition).collect(),
            calls: spec.calls.iter().map(|(_, callee)| field(callee)).collect(),
            access: spec.access.iter().map(|(_, name, object)| (field(name), field(object))).collect(),
            body: field("body"),
            kind_of_type: if language == Language::Go { field("type") } else { Child::None },
            builtins: spec.builtins,
            has_field_flags: !spec.type_fields.is_empty() || !spec.upper_fields.is_empty(),
        }
    }

    pub(super) fn entry(&self, node: Node<'_>) -> Entry {
        self.entries.get(usize::from(node.kind_id())).copied().unwrap_or_default()
    }

    pub(super) fn field_flags(&self, field: Option<NonZeroU16>) -> u8 {
        field.and_then(|id| self.fields.get(usize::from(id.get())).copied()).unwrap_or(0)
    }

    pub(super) fn definition(&self, entry: Entry) -> Option<&DefRule> {
        self.definitions.get(usize::from(entry.definition).checked_sub(1)?)
    }

    pub(super) fn callee<'t>(&self, entry: Entry, node: Node<'t>) -> Option<Node<'t>> {
        self.calls.get(usize::from(entry.call).checked_sub(1)?)?.of(node)
    }

    pub(super) fn access(&self, entry: Entry) -> Option<(Child, Child)> {
        self.access.get(usize::from(entry.access).checked_sub(1)?).copied()
    }
}

impl Child {
    pub(super) fn of<'t>(self, node: Node<'t>) -> Option<Node<'t>> {
        match self {
            Self::None => None,
            Self::First => node.named_child(0),
            Self::Last => node.named_child(u32::try_from(node.named_child_count().checked_sub(1)?).ok()?),
            Self::Field(id) => node.child_by_field_id(id.get()),
        }
    }
}

fn entry(spec: &Spec, kind: &str) -> Entry {
    let position = |found: Option<usize>| found.map_or(0, |at| u8::try_from(at + 1).unwrap_or(0));
    let lists = [
        (spec.types, flag::TYPE),
        (spec.identifiers, flag::IDENTIFIER),
        (spec.whole, flag::WHOLE),
        (spec.type_parents, flag::TYPE_PARENT),
        (spec.token_parents, flag::TOKEN_PARENT),
        (spec.functions, flag::FUNCTION),
        (spec.skipped, flag::SKIP),
        (spec.comments, flag::COMMENT),
        (spec.attributes, flag::ATTRIBUTE),
        (spec.wrappers, flag::WRAPPER),
        (&["function_declarator"], flag::FUNCTION_DECLARATOR),
        (&["parenthesized_declarator"], flag::PARENTHESES),
    ];
    let flags = lists.iter().filter(|(list, _)| list.contains(&kind));
    Entry {
        flags: flags.fold(flag::NAMED, |flags, (_, flag)| flags | flag),
        definition: position(spec.definitions.iter().position(|def| def.node == kind)),
        call: position(spec.calls.iter().position(|(node, _)| *node == kind)),
        access: position(spec.access.iter().position(|(node, _, _)| *node == kind)),
        import: spec.imports.iter().find(|(node, _)| *node == kind).map(|(_, form)| *form),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_tables_exists_in_its_grammar() {
        for language in Language::ALL {
            let (grammar, spec) = (language.grammar(), spec::of(language));
            let lists = [
                spec.types, spec.identifiers, spec.whole, spec.type_parents, spec.token_parents, spec.comments,
                spec.attributes, spec.wrappers, spec.functions, spec.skipped,
            ];
            let kinds = lists
                .into_iter()
                .flatten()
                .copied()
                .chain(spec.definitions.iter().map(|def| def.node))
                .chain(spec.calls.iter().map(|(node, _)| *node))
                .chain(spec.access.iter().map(|(node, _, _)| *node))
                .chain(spec.imports.iter().map(|(node, _)| *node));
            for kind in kinds {
                assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{language}: no node {kind}");
            }
            let fields = [spec.type_fields, spec.upper_fields].into_iter().flatten().copied();
            let fields = fields
                .chain(spec.definitions.iter().flat_map(|def| [def.name, def.value, def.receiver]))
                .chain(spec.calls.iter().map(|(_, callee)| *callee))
                .chain(spec.access.iter().flat_map(|(_, name, object)| [*name, *object]));
            for field in fields.filter(|field| !["", "$", "-"].contains(field)) {
                assert!(grammar.field_id_for_name(field).is_some(), "{language}: no field {field}");
            }
        }
    }
}
