//! What the node kinds of each grammar mean to us, as plain tables.
//!
//! A test holds every name in them to the grammar, so an update of one that renames a node is noticed.

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

/// One language. Lists that a language has no use for stay empty.
pub(super) struct Spec {
    pub(super) definitions: &'static [Def],
    /// Calls, constructions and macro uses, and the child that names what is called.
    pub(super) calls: &'static [(&'static str, &'static str)],
    /// Nodes that wrap a name: the child with the name, and the child before it that qualifies it. As for all children
    /// here, `""` stands for the first named one, `"$"` for the last, `"-"` for none.
    pub(super) access: &'static [(&'static str, &'static str, &'static str)],
    pub(super) imports: &'static [(&'static str, ImportForm)],
    /// Leaves that name a type.
    pub(super) types: &'static [&'static str],
    /// Leaves that name anything.
    pub(super) identifiers: &'static [&'static str],
    /// Nodes that may be a name or a qualifier as a whole, and are no use of a name by themselves.
    pub(super) whole: &'static [&'static str],
    /// Parents and fields under which an identifier names a type.
    pub(super) type_parents: &'static [&'static str],
    pub(super) type_fields: &'static [&'static str],
    /// Fields under which a capitalised identifier names a type.
    pub(super) upper_fields: &'static [&'static str],
    /// Parents under which an identifier right before a parenthesis is called.
    pub(super) token_parents: &'static [&'static str],
    pub(super) comments: &'static [&'static str],
    /// Siblings that belong to what follows, like comments.
    pub(super) attributes: &'static [&'static str],
    /// Nodes around a definition that belong to it.
    pub(super) wrappers: &'static [&'static str],
    /// Functions without a name: variables in them are local, and a variable that is one is a function.
    pub(super) functions: &'static [&'static str],
    /// Never descended into.
    pub(super) skipped: &'static [&'static str],
    /// Names that everybody uses and nobody looks for.
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

/// A node kind that defines something.
#[derive(Clone, Copy)]
pub(super) struct Def {
    pub(super) node: &'static str,
    pub(super) kind: DefinitionKind,
    /// The child with the name.
    pub(super) name: &'static str,
    pub(super) when: When,
    /// The child that may be a function instead of a value.
    pub(super) value: &'static str,
    /// The child that names the type it belongs to.
    pub(super) receiver: &'static str,
    /// What it is where `when` does not hold.
    pub(super) otherwise: Option<ImportForm>,
}

/// When a node of the kind is a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// It has a body; without one it mentions what is defined elsewhere.
    Body,
    /// Not among the statements of a function.
    Outside,
    /// Directly in a type.
    Member,
    /// Its value is a function.
    Function,
    /// Its value is a function, or it is not among the statements of a function.
    FunctionOrOutside,
}

/// A definition named by its field `name`.
pub(super) const fn def(node: &'static str, kind: DefinitionKind) -> Def {
    Def {
        node,
        kind,
        name: "name",
        when: When::Always,
        value: "-",
        receiver: "-",
        otherwise: None,
    }
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
        Self {
            otherwise: Some(form),
            ..self
        }
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
