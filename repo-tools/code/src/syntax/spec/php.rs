//! PHP.

use super::{Def, ImportForm, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

const DEFINITIONS: &[Def] = &[
    def("function_definition", Kind::Function),
    def("method_declaration", Kind::Method),
    def("class_declaration", Kind::Class),
    def("interface_declaration", Kind::Interface),
    def("trait_declaration", Kind::Trait),
    def("enum_declaration", Kind::Enum),
    def("enum_case", Kind::Variant),
    def("const_element", Kind::Constant).named(""),
    def("property_element", Kind::Field).when(When::Member),
    def("namespace_definition", Kind::Module).when(When::Body),
];

pub(super) static SPEC: Spec = Spec {
    definitions: DEFINITIONS,
    calls: &[
        ("function_call_expression", "function"),
        ("member_call_expression", "name"),
        ("nullsafe_member_call_expression", "name"),
        ("scoped_call_expression", "name"),
        ("object_creation_expression", ""),
        ("attribute", ""),
    ],
    access: &[
        ("member_call_expression", "name", "object"),
        ("nullsafe_member_call_expression", "name", "object"),
        ("scoped_call_expression", "name", "scope"),
        ("member_access_expression", "name", "object"),
        ("qualified_name", "$", "prefix"),
        ("namespace_name", "$", "-"),
        ("named_type", "", "-"),
    ],
    imports: &[
        ("namespace_use_declaration", ImportForm::PhpUse),
        ("require_expression", ImportForm::PhpInclude),
        ("require_once_expression", ImportForm::PhpInclude),
        ("include_expression", ImportForm::PhpInclude),
        ("include_once_expression", ImportForm::PhpInclude),
    ],
    identifiers: &["name"],
    whole: &["variable_name", "relative_scope"],
    type_parents: &["named_type", "base_clause", "class_interface_clause", "use_declaration"],
    type_fields: &["scope"],
    wrappers: &["const_declaration", "property_declaration"],
    functions: &["anonymous_function", "arrow_function"],
    skipped: &["string", "encapsed_string", "variable_name", "heredoc", "nowdoc"],
    builtins: &["define", "isset", "count"],
    ..Spec::EMPTY
};
