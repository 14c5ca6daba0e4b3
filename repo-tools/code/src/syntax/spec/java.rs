//! Java.

use super::{Def, ImportForm, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

const DEFINITIONS: &[Def] = &[
    def("class_declaration", Kind::Class),
    def("interface_declaration", Kind::Interface),
    def("annotation_type_declaration", Kind::Interface),
    def("enum_declaration", Kind::Enum),
    def("enum_constant", Kind::Variant),
    def("record_declaration", Kind::Struct),
    def("method_declaration", Kind::Method),
    def("constructor_declaration", Kind::Method),
    def("compact_constructor_declaration", Kind::Method),
    def("annotation_type_element_declaration", Kind::Method),
    def("variable_declarator", Kind::Variable).when(When::Member),
];

pub(super) static SPEC: Spec = Spec {
    definitions: DEFINITIONS,
    calls: &[
        ("method_invocation", "name"),
        ("object_creation_expression", "type"),
        ("explicit_constructor_invocation", "constructor"),
    ],
    access: &[
        ("method_invocation", "name", "object"),
        ("field_access", "field", "object"),
        ("scoped_type_identifier", "$", "-"),
        ("scoped_identifier", "name", "scope"),
        ("generic_type", "", "-"),
    ],
    imports: &[("import_declaration", ImportForm::Java)],
    types: &["type_identifier"],
    identifiers: &["identifier"],
    whole: &["this", "super"],
    type_parents: &["marker_annotation", "annotation"],
    upper_fields: &["object"],
    comments: &["line_comment", "block_comment"],
    wrappers: &["field_declaration"],
    functions: &["lambda_expression"],
    skipped: &["string_literal", "package_declaration"],
    builtins: &["String", "Object", "Integer", "Override"],
    ..Spec::EMPTY
};
