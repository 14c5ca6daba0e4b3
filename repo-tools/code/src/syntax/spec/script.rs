//! JavaScript and TypeScript, with JSX in both.

use super::{Def, ImportForm, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

macro_rules! with_common {
    ($field:literal, $name:literal, [$($more:expr),* $(,)?]) => {
        &[
            def("function_declaration", Kind::Function),
            def("generator_function_declaration", Kind::Function),
            def("class_declaration", Kind::Class),
            def("class", Kind::Class),
            def("method_definition", Kind::Method),
            def($field, Kind::Field).named($name).value("value"),
            def("variable_declarator", Kind::Variable)
                .when(When::FunctionOrOutside)
                .value("value"),
            def("assignment_expression", Kind::Function)
                .named("left")
                .when(When::Function)
                .value("right"),
            def("pair", Kind::Method).named("key").when(When::Function).value("value"),
            $($more),*
        ]
    };
}

const JAVASCRIPT_DEFINITIONS: &[Def] = with_common!("field_definition", "property", []);

const TYPESCRIPT_DEFINITIONS: &[Def] = with_common!(
    "public_field_definition",
    "name",
    [
        def("abstract_class_declaration", Kind::Class),
        def("interface_declaration", Kind::Interface),
        def("type_alias_declaration", Kind::TypeAlias),
        def("enum_declaration", Kind::Enum),
        def("internal_module", Kind::Module),
        def("module", Kind::Module),
        def("method_signature", Kind::Method),
        def("abstract_method_signature", Kind::Method),
        def("function_signature", Kind::Prototype),
        def("property_signature", Kind::Field).when(When::Member),
    ]
);

const WITHOUT_JSX: &[(&str, &str)] =
    &[("call_expression", "function"), ("new_expression", "constructor"), ("decorator", "")];

const WITH_JSX: &[(&str, &str)] = &[
    ("call_expression", "function"),
    ("new_expression", "constructor"),
    ("decorator", ""),
    ("jsx_opening_element", "name"),
    ("jsx_self_closing_element", "name"),
];

const COMMON: Spec = Spec {
    calls: WITH_JSX,
    imports: &[("import_statement", ImportForm::Script), ("export_statement", ImportForm::ScriptFrom)],
    identifiers: &["identifier", "property_identifier", "private_property_identifier", "shorthand_property_identifier"],
    whole: &["this", "super"],
    upper_fields: &["object"],
    attributes: &["decorator"],
    wrappers: &["export_statement", "lexical_declaration", "variable_declaration", "expression_statement"],
    functions: &["arrow_function", "function_expression", "generator_function"],
    skipped: &["string", "regex"],
    ..Spec::EMPTY
};

pub(super) static JAVASCRIPT: Spec = Spec {
    definitions: JAVASCRIPT_DEFINITIONS,
    access: &[("member_expression", "property", "object")],
    type_parents: &["class_heritage"],
    ..COMMON
};

pub(super) static TYPESCRIPT: Spec = Spec { calls: WITHOUT_JSX, ..TYPED };

pub(super) static TSX: Spec = TYPED;

const TYPED: Spec = Spec {
    definitions: TYPESCRIPT_DEFINITIONS,
    access: &[
        ("member_expression", "property", "object"),
        ("non_null_expression", "", "-"),
        ("generic_type", "name", "-"),
        ("nested_type_identifier", "name", "module"),
    ],
    types: &["type_identifier"],
    type_parents: &["extends_clause"],
    wrappers: &[
        "export_statement", "lexical_declaration", "variable_declaration", "expression_statement",
        "ambient_declaration",
    ],
    ..COMMON
};
