//! C and C++.

use super::{Def, ImportForm, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

macro_rules! with_common {
    ([$($more:expr),* $(,)?]) => {
        &[
            def("function_definition", Kind::Function).named("declarator"),
            def("declaration", Kind::Variable)
                .named("declarator")
                .when(When::Outside),
            def("field_declaration", Kind::Field).named("declarator").when(When::Member),
            def("type_definition", Kind::TypeAlias).named("declarator"),
            def("struct_specifier", Kind::Struct).when(When::Body),
            def("union_specifier", Kind::Struct).when(When::Body),
            def("enum_specifier", Kind::Enum).when(When::Body),
            def("enumerator", Kind::Variant),
            def("preproc_def", Kind::Macro),
            def("preproc_function_def", Kind::Macro),
            $($more),*
        ]
    };
}

const C_DEFINITIONS: &[Def] = with_common!([]);

const CPP_DEFINITIONS: &[Def] = with_common!([
    def("class_specifier", Kind::Class).when(When::Body),
    def("namespace_definition", Kind::Module).when(When::Body),
    def("alias_declaration", Kind::TypeAlias),
    def("concept_definition", Kind::Trait),
]);

const C_BUILTINS: &[&str] = &["size_t", "sizeof", "uint8_t", "uint32_t", "uint64_t", "int64_t", "int32_t"];

pub(super) static C: Spec = Spec {
    definitions: C_DEFINITIONS,
    calls: &[("call_expression", "function")],
    access: &[
        ("field_expression", "field", "argument"),
        ("pointer_declarator", "declarator", "-"),
        ("function_declarator", "declarator", "-"),
        ("array_declarator", "declarator", "-"),
        ("init_declarator", "declarator", "-"),
        ("attributed_declarator", "", "-"),
        ("parenthesized_declarator", "", "-"),
        ("parenthesized_expression", "", "-"),
    ],
    imports: &[("preproc_include", ImportForm::Include)],
    types: &["type_identifier"],
    identifiers: &["identifier", "field_identifier"],
    wrappers: &["linkage_specification"],
    skipped: &["string_literal", "preproc_arg"],
    builtins: C_BUILTINS,
    ..Spec::EMPTY
};

pub(super) static CPP: Spec = Spec {
    definitions: CPP_DEFINITIONS,
    calls: &[("call_expression", "function"), ("new_expression", "type")],
    access: &[
        ("field_expression", "field", "argument"),
        ("pointer_declarator", "declarator", "-"),
        ("function_declarator", "declarator", "-"),
        ("array_declarator", "declarator", "-"),
        ("init_declarator", "declarator", "-"),
        ("reference_declarator", "", "-"),
        ("attributed_declarator", "", "-"),
        ("parenthesized_declarator", "", "-"),
        ("parenthesized_expression", "", "-"),
        ("qualified_identifier", "name", "scope"),
        ("template_function", "name", "-"),
        ("template_method", "name", "-"),
        ("template_type", "name", "-"),
        ("dependent_name", "", "-"),
        ("nested_namespace_specifier", "$", "-"),
    ],
    imports: &[("preproc_include", ImportForm::Include), ("using_declaration", ImportForm::CppUsing)],
    types: &["type_identifier"],
    identifiers: &["identifier", "field_identifier"],
    whole: &["this", "namespace_identifier", "destructor_name", "operator_name", "operator_cast"],
    upper_fields: &["scope"],
    wrappers: &["template_declaration", "linkage_specification"],
    functions: &["lambda_expression"],
    skipped: &["string_literal", "raw_string_literal", "preproc_arg"],
    builtins: C_BUILTINS,
    ..Spec::EMPTY
};
