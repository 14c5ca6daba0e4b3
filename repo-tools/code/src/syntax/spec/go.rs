//! Go.

use super::{Def, ImportForm, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

const DEFINITIONS: &[Def] = &[
    def("function_declaration", Kind::Function),
    def("method_declaration", Kind::Method).receiver("receiver"),
    // The kind is refined by the right side of the declaration.
    def("type_spec", Kind::TypeAlias),
    def("type_alias", Kind::TypeAlias),
    def("const_spec", Kind::Constant).when(When::Outside),
    def("var_spec", Kind::Variable).when(When::Outside),
    def("method_elem", Kind::Method).when(When::Member),
    def("field_declaration", Kind::Field).when(When::Member),
];

pub(super) static SPEC: Spec = Spec {
    definitions: DEFINITIONS,
    calls: &[("call_expression", "function")],
    access: &[
        ("selector_expression", "field", "operand"),
        ("qualified_type", "name", "package"),
        ("generic_type", "type", "-"),
        ("pointer_type", "", "-"),
        ("parameter_list", "", "-"),
        ("parameter_declaration", "type", "-"),
        ("parenthesized_expression", "", "-"),
        ("type_instantiation_expression", "type", "-"),
    ],
    imports: &[("import_spec", ImportForm::Go)],
    types: &["type_identifier"],
    identifiers: &["identifier", "field_identifier"],
    whole: &["package_identifier"],
    wrappers: &["const_declaration", "var_declaration", "type_declaration", "var_spec_list"],
    functions: &["func_literal"],
    builtins: &[
        "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr", "string",
        "bool", "byte", "rune", "float32", "float64", "error", "any", "len", "cap", "make", "append", "panic", "new",
        "copy", "delete", "close",
    ],
    ..Spec::EMPTY
};
