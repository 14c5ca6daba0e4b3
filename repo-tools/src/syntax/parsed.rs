//! What is known of a source text. All of it serialises compactly: the index keeps one for each blob.

use serde::{Deserialize, Serialize};

/// What one source text defines, uses and imports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parsed {
    /// In the order of their names in the text; an enclosing definition comes before what it encloses.
    pub definitions: Vec<Definition>,
    /// By line.
    pub references: Vec<Reference>,
    /// In the order of the text.
    pub imports: Vec<Import>,
    /// The text has syntax errors, or is in a dialect that the grammar does not know.
    pub broken: bool,
    /// A limit ended the extraction; there is more.
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

/// A named thing that a text defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// Its name, without what it belongs to.
    pub name: Box<str>,
    /// What it is.
    pub kind: DefinitionKind,
    /// The definition that encloses it, as an index into [`Parsed::definitions`].
    pub parent: Option<u32>,
    /// The type that it belongs to where that is named beside and not around it: a Go receiver, `A` in C++ `A::f`.
    pub receiver: Option<Box<str>>,
    /// All of it, with the comments, attributes and decorators before it.
    pub lines: Lines,
    /// Where it begins without the comments before it.
    pub declared: u32,
    /// The line of its name.
    pub name_line: u32,
    /// The last line of its signature: `declared` up to here is what an outline shows.
    pub signature_last: u32,
}

/// What a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A class.
    Class,
    /// A struct, a union, a record.
    Struct,
    /// An enumeration.
    Enum,
    /// One case of an enumeration.
    Variant,
    /// An interface.
    Interface,
    /// A trait, also of PHP; a concept of C++.
    Trait,
    /// A Rust `impl` block, named after its type.
    Impl,
    /// A module, a namespace.
    Module,
    /// Another name for a type.
    TypeAlias,
    /// A constant.
    Constant,
    /// A variable outside of functions.
    Variable,
    /// A field or property.
    Field,
    /// A macro.
    Macro,
    /// A function that is declared here and defined elsewhere.
    Prototype,
}

impl DefinitionKind {
    /// All kinds, for tables and command lines.
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

    /// Its name in output, as it is serialised.
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

    /// Whether functions inside are methods.
    pub fn is_type(self) -> bool {
        matches!(
            self,
            Self::Class | Self::Struct | Self::Enum | Self::Variant | Self::Interface | Self::Trait | Self::Impl
        )
    }

    /// Whether it has code that is called.
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Macro | Self::Prototype)
    }
}

/// A use of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name that is used.
    pub name: Box<str>,
    /// How.
    pub kind: ReferenceKind,
    /// The last name before it: `a` in `a.f()`, `self.a.f()` and `x::a::f()`.
    pub qualifier: Option<Box<str>>,
    /// The innermost definition around it, as an index into [`Parsed::definitions`].
    pub inside: Option<u32>,
    /// The line, counted from 1.
    pub line: u32,
}

/// How a name is used, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceKind {
    /// It is called, constructed or expanded.
    Call,
    /// It is imported.
    Import,
    /// It stands for a type.
    Type,
    /// Anything else.
    Other,
}

/// One imported module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The module as it is written, without quotes: `std::fmt`, `.inner`, `./x`, `stdio.h`.
    pub path: Box<str>,
    /// The names that are taken from it; none if it is imported whole.
    pub names: Vec<Imported>,
    /// The line, counted from 1.
    pub line: u32,
}

/// A name that an import brings in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Its name in the module; `*` for all of them.
    pub name: Box<str>,
    /// Its name here, where that differs.
    pub alias: Option<Box<str>>,
}

impl Parsed {
    /// The name of what a definition belongs to: its receiver, or the innermost definition around it.
    pub fn container<'a>(&'a self, definition: &'a Definition) -> Option<&'a str> {
        if let Some(receiver) = &definition.receiver {
            return Some(receiver);
        }
        let parent = self.definitions.get(definition.parent? as usize)?;
        Some(&parent.name)
    }

    /// The innermost definition whose lines hold `line`.
    pub fn enclosing(&self, line: u32) -> Option<&Definition> {
        let around = |definition: &&Definition| definition.lines.first <= line && line <= definition.lines.last;
        let size = |definition: &&Definition| definition.lines.last - definition.lines.first;
        self.definitions.iter().filter(around).min_by_key(size)
    }
}
