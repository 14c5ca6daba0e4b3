//! The meaning of each grammar's node kinds, as plain tables.
//!
//! A test checks every name in the tables against the grammar, so that a renamed node in a grammar update is detected.

mod c;
mod csharp;
mod go;
mod java;
mod php;
mod python;
mod ruby;
mod rust;
mod script;
mod shell;

use super::imports::ImportForm;
use super::language::Language;
use super::parsed::DefinitionKind;

/// The table of one language. Unused lists are empty.
pub(super) struct Spec {
    pub(super) definitions: &'static [Def],
    /// Calls, constructions and macro uses, with the child that names the callee.
    pub(super) calls: &'static [(&'static str, &'static str)],
    /// Nodes that wrap a name: the child with the name, and the child with the qualifier. In all tables, `""` means the
    /// first named child, `"$"` the last named child, and `"-"` no child.
    pub(super) access: &'static [(&'static str, &'static str, &'static str)],
    pub(super) imports: &'static [(&'static str, ImportForm)],
    /// Leaves that name a type.
    pub(super) types: &'static [&'static str],
    /// Leaves that name anything.
    pub(super) identifiers: &'static [&'static str],
    /// Nodes that are a name or a qualifier as a whole, but no reference by themselves.
    pub(super) whole: &'static [&'static str],
    /// Parents and fields under which an identifier names a type.
    pub(super) type_parents: &'static [&'static str],
    pub(super) type_fields: &'static [&'static str],
    /// Fields under which a capitalised identifier names a type.
    pub(super) upper_fields: &'static [&'static str],
    /// Parents under which an identifier directly before a parenthesis is a call.
    pub(super) token_parents: &'static [&'static str],
    pub(super) comments: &'static [&'static str],
    /// Siblings that belong to the following definition, like comments.
    pub(super) attributes: &'static [&'static str],
    /// Nodes around a definition that belong to it.
    pub(super) wrappers: &'static [&'static str],
    /// Anonymous functions. Variables inside them are local. A variable whose value is an anonymous function is a
    /// function.
    pub(super) functions: &'static [&'static str],
    /// Nodes whose children are skipped.
    pub(super) skipped: &'static [&'static str],
    /// Ubiquitous names that are no useful references.
    pub(super) builtins: &'static [&'static str],
}

impl Spec {
    pub(super) const EMPTY: Self = Self {
        definitions: &[],
        calls: &[],
        access: &[],
        imports: &[],
        types: &[],
        identifiers: &[],
        whole: &[],
        type_parents: &[],
        type_fields: &[],
        upper_fields: &[],
        token_parents: &[],
        comments: &["comment"],
        attributes: &[],
        wrappers: &[],
        functions: &[],
        skipped: &[],
        builtins: &[],
    };
}

/// A node kind that is a definition.
#[derive(Clone, Copy)]
pub(super) struct Def {
    pub(super) node: &'static str,
    pub(super) kind: DefinitionKind,
    /// The child with the name.
    pub(super) name: &'static str,
    pub(super) when: When,
    /// The child with the value, which can be a function.
    pub(super) value: &'static str,
    /// The child with the type of a method.
    pub(super) receiver: &'static str,
    /// The import that the node represents if `when` does not hold.
    pub(super) otherwise: Option<ImportForm>,
}

/// The condition under which a node is a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// The node has a body. A node without a body only mentions a definition elsewhere.
    Body,
    /// The node is not inside a function.
    Outside,
    /// The node is directly inside a type.
    Member,
    /// The value is a function.
    Function,
    /// The value is a function, or the node is not inside a function.
    FunctionOrOutside,
}

/// Creates a definition whose name is in the field `name`.
pub(super) const fn def(node: &'static str, kind: DefinitionKind) -> Def {
    Def { node, kind, name: "name", when: When::Always, value: "-", receiver: "-", otherwise: None }
}

impl Def {
    pub(super) const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(super) const fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    pub(super) const fn value(self, value: &'static str) -> Self {
        Self { value, ..self }
    }

    pub(super) const fn receiver(self, receiver: &'static str) -> Self {
        Self { receiver, ..self }
    }

    pub(super) const fn otherwise(self, form: ImportForm) -> Self {
        Self { otherwise: Some(form), ..self }
    }
}

pub(super) fn of(language: Language) -> &'static Spec {
    match language {
        Language::Rust => &rust::SPEC,
        Language::Python => &python::SPEC,
        Language::JavaScript => &script::JAVASCRIPT,
        Language::TypeScript => &script::TYPESCRIPT,
        Language::Tsx => &script::TSX,
        Language::Go => &go::SPEC,
        Language::Java => &java::SPEC,
        Language::C => &c::C,
        Language::Cpp => &c::CPP,
        Language::CSharp => &csharp::SPEC,
        Language::Ruby => &ruby::SPEC,
        Language::Php => &php::SPEC,
        Language::Bash => &shell::SPEC,
    }
}
