//! The result of parsing a source text. It serialises compactly, because the index stores one for each blob.

use serde::{Deserialize, Serialize};

/// The definitions, references and imports of one source text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parsed {
    /// The definitions, by the position of their names; an enclosing definition comes before its members.
    pub definitions: Vec<Definition>,
    /// The references, by line.
    pub references: Vec<Reference>,
    /// The imports, in text order.
    pub imports: Vec<Import>,
    /// The number of lines that contain only comments.
    pub comment_lines: u32,
    /// Whether the text has syntax errors for the grammar.
    pub broken: bool,
    /// Whether a limit ended the extraction, so that items are missing.
    pub cut: bool,
}

/// A range of lines, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    /// The first line.
    pub first: u32,
    /// The last line.
    pub last: u32,
}

/// A named definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The name, without its container.
    pub name: Box<str>,
    pub kind: DefinitionKind,
    /// The enclosing definition, as an index into [`Parsed::definitions`].
    pub parent: Option<u32>,
    /// The type of a method that is not nested in the type: a Go receiver, or `A` in C++ `A::f`.
    pub receiver: Option<Box<str>>,
    /// The lines of the definition, including the comments, attributes and decorators before it.
    pub lines: Lines,
    /// The first line without the comments before it.
    pub declared: u32,
    pub name_line: u32,
    /// The last line of the signature. An outline shows `declared` to `signature_last`.
    pub signature_last: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    Class,
    /// A struct, a union, a record.
    Struct,
    /// An enumeration.
    Enum,
    /// One case of an enumeration.
    Variant,
    Interface,
    /// A trait, also in PHP; a C++ concept.
    Trait,
    /// A Rust `impl` block, named after its type.
    Impl,
    /// A module, a namespace.
    Module,
    TypeAlias,
    Constant,
    /// A variable outside of functions.
    Variable,
    /// A field or property.
    Field,
    Macro,
    /// A declaration of a function that is defined elsewhere.
    Prototype,
}

impl DefinitionKind {
    pub const ALL: [Self; 16] = [
        Self::Function,
        Self::Method,
        Self::Class,
        Self::Struct,
        Self::Enum,
        Self::Variant,
        Self::Interface,
        Self::Trait,
        Self::Impl,
        Self::Module,
        Self::TypeAlias,
        Self::Constant,
        Self::Variable,
        Self::Field,
        Self::Macro,
        Self::Prototype,
    ];

    /// Returns the serialised name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Variant => "variant",
            Self::Interface => "interface",
            Self::Trait => "trait",
            Self::Impl => "impl",
            Self::Module => "module",
            Self::TypeAlias => "type_alias",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Field => "field",
            Self::Macro => "macro",
            Self::Prototype => "prototype",
        }
    }

    /// Returns whether functions inside such a definition are methods.
    pub fn is_type(self) -> bool {
        matches!(
            self,
            Self::Class | Self::Struct | Self::Enum | Self::Variant | Self::Interface | Self::Trait | Self::Impl
        )
    }

    /// Returns whether such a definition can be called.
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Macro | Self::Prototype)
    }
}

/// A use of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The used name.
    pub name: Box<str>,
    /// The way the name is used.
    pub kind: ReferenceKind,
    /// The name directly before it: `a` in `a.f()`, `self.a.f()` and `x::a::f()`.
    pub qualifier: Option<Box<str>>,
    /// The innermost enclosing definition, as an index into [`Parsed::definitions`].
    pub inside: Option<u32>,
    /// The line, counted from 1.
    pub line: u32,
}

/// The way a name is used, in descending order of relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceKind {
    /// A call, a construction or a macro expansion.
    Call,
    Import,
    /// A type name.
    Type,
    /// Any other use.
    Other,
}

/// One imported module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The module as written, without quotes: `std::fmt`, `.inner`, `./x`, `stdio.h`.
    pub path: Box<str>,
    /// The imported names; empty if the module is imported as a whole.
    pub names: Vec<Imported>,
    /// The line, counted from 1.
    pub line: u32,
}

/// An imported name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The name in the module; `*` for all names.
    pub name: Box<str>,
    /// The local name, if it differs.
    pub alias: Option<Box<str>>,
}

impl Parsed {
    /// Returns the container's name of a definition: its receiver, or else the innermost enclosing definition.
    pub fn container<'a>(&'a self, definition: &'a Definition) -> Option<&'a str> {
        if let Some(receiver) = &definition.receiver {
            return Some(receiver);
        }
        let parent = self.definitions.get(definition.parent? as usize)?;
        Some(&parent.name)
    }

    /// Returns the innermost definition that contains a line.
    pub fn enclosing(&self, line: u32) -> Option<&Definition> {
        let around = |definition: &&Definition| definition.lines.first <= line && line <= definition.lines.last;
        let size = |definition: &&Definition| definition.lines.last - definition.lines.first;
        self.definitions.iter().filter(around).min_by_key(size)
    }
}
