use super::super::imports::ImportForm;
use super::super::parsed::DefinitionKind;

/// The table of one language. Unused lists are empty.
pub(crate) struct Spec {
    pub(crate) definitions: &'static [Def],
    /// Calls, constructions and macro uses, with the child that names the callee.
    pub(crate) calls: &'static [(&'static str, &'static str)],
    /// Nodes that wrap a name: the child with the name, and the child with the qualifier. In all tables, `""` means the
    /// first named child, `"$"` the last named child, and `"-"` no child.
    pub(crate) access: &'static [(&'static str, &'static str, &'static str)],
    pub(crate) imports: &'static [(&'static str, ImportForm)],
    /// Leaves that name a type.
    pub(crate) types: &'static [&'static str],
    /// Leaves that name anything.
    pub(crate) identifiers: &'static [&'static str],
    /// Nodes that are a name or a qualifier as a whole, but no reference by themselves.
    pub(crate) whole: &'static [&'static str],
    /// Parents and fields under which an identifier names a type.
    pub(crate) type_parents: &'static [&'static str],
    pub(crate) type_fields: &'static [&'static str],
    /// Fields under which a capitalised identifier names a type.
    pub(crate) upper_fields: &'static [&'static str],
    /// Parents under which an identifier directly before a parenthesis is a call.
    pub(crate) token_parents: &'static [&'static str],
    pub(crate) comments: &'static [&'static str],
    /// Siblings that belong to the following definition, like comments.
    pub(crate) attributes: &'static [&'static str],
    /// Nodes around a definition that belong to it.
    pub(crate) wrappers: &'static [&'static str],
    /// Anonymous functions. Variables inside them are local. A variable whose value is an anonymous function is a
    /// function.
    pub(crate) functions: &'static [&'static str],
    /// Nodes whose children are skipped.
    pub(crate) skipped: &'static [&'static str],
    /// Ubiquitous names that are no useful references.
    pub(crate) builtins: &'static [&'static str],
}

impl Spec {
    pub(crate) const EMPTY: Self = Self {
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
pub(crate) struct Def {
    pub(crate) node: &'static str,
    pub(crate) kind: DefinitionKind,
    /// The child with the name.
    pub(crate) name: &'static str,
    pub(crate) when: When,
    /// The child with the value, which can be a function.
    pub(crate) value: &'static str,
    /// The child with the type of a method.
    pub(crate) receiver: &'static str,
    /// The import that the node represents if `when` does not hold.
    pub(crate) otherwise: Option<ImportForm>,
}

/// The condition under which a node is a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
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
pub(crate) const fn def(node: &'static str, kind: DefinitionKind) -> Def {
    Def { node, kind, name: "name", when: When::Always, value: "-", receiver: "-", otherwise: None }
}

impl Def {
    pub(crate) const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(crate) const fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    pub(crate) const fn value(self, value: &'static str) -> Self {
        Self { value, ..self }
    }

    pub(crate) const fn receiver(self, receiver: &'static str) -> Self {
        Self { receiver, ..self }
    }

    pub(crate) const fn otherwise(self, form: ImportForm) -> Self {
        Self { otherwise: Some(form), ..self }
    }
}
