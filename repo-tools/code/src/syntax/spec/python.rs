//! Python.

use super::{Def, ImportForm, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

const DEFINITIONS: &[Def] = &[
    def("function_definition", Kind::Function),
    def("class_definition", Kind::Class),
    def("assignment", Kind::Variable).named("left").when(When::Outside),
    def("type_alias_statement", Kind::TypeAlias).named("left"),
];

pub(super) static SPEC: Spec = Spec {
    definitions: DEFINITIONS,
    calls: &[("call", "function"), ("decorator", "")],
    access: &[("attribute", "attribute", "object"), ("type", "", "-"), ("generic_type", "", "-")],
    imports: &[
        ("import_statement", ImportForm::Python),
        ("import_from_statement", ImportForm::PythonFrom),
        ("future_import_statement", ImportForm::PythonFrom),
    ],
    identifiers: &["identifier"],
    type_parents: &["type", "generic_type", "union_type"],
    type_fields: &["superclasses"],
    upper_fields: &["object"],
    attributes: &["decorator"],
    wrappers: &["decorated_definition", "expression_statement"],
    functions: &["lambda"],
    builtins: &[
        "int", "str", "float", "bool", "bytes", "dict", "list", "set", "tuple", "object", "print", "len", "isinstance",
        "range", "super", "Any", "Optional", "List", "Dict", "Union", "Tuple", "self", "cls",
    ],
    ..Spec::EMPTY
};
