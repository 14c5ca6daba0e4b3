//! C#.

use super::{Def, ImportForm, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

const DEFINITIONS: &[Def] = &[
    def("namespace_declaration", Kind::Module),
    def("file_scoped_namespace_declaration", Kind::Module),
    def("class_declaration", Kind::Class),
    def("struct_declaration", Kind::Struct),
    def("record_declaration", Kind::Struct),
    def("interface_declaration", Kind::Interface),
    def("enum_declaration", Kind::Enum),
    def("enum_member_declaration", Kind::Variant),
    def("delegate_declaration", Kind::TypeAlias),
    def("method_declaration", Kind::Method),
    def("constructor_declaration", Kind::Method),
    def("destructor_declaration", Kind::Method),
    def("local_function_statement", Kind::Function),
    def("property_declaration", Kind::Field),
    def("event_declaration", Kind::Field),
    def("variable_declarator", Kind::Variable).when(When::Member),
];

pub(super) static SPEC: Spec = Spec {
    definitions: DEFINITIONS,
    calls: &[("invocation_expression", "function"), ("object_creation_expression", "type")],
    access: &[
        ("member_access_expression", "name", "expression"),
        ("conditional_access_expression", "$", "condition"),
        ("member_binding_expression", "name", "-"),
        ("generic_name", "", "-"),
        ("qualified_name", "name", "qualifier"),
        ("alias_qualified_name", "name", "alias"),
        ("nullable_type", "type", "-"),
        ("array_type", "type", "-"),
    ],
    imports: &[("using_directive", ImportForm::CSharp)],
    identifiers: &["identifier"],
    type_parents: &["base_list", "type_argument_list", "generic_name", "attribute", "nullable_type", "array_type"],
    type_fields: &["type", "returns"],
    upper_fields: &["expression"],
    wrappers: &["field_declaration", "event_field_declaration", "variable_declaration"],
    functions: &["lambda_expression", "anonymous_method_expression"],
    skipped: &["string_literal", "verbatim_string_literal", "raw_string_literal"],
    builtins: &["var", "nameof"],
    ..Spec::EMPTY
};
