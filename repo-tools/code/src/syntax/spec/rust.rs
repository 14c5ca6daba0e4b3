//! Rust.

use super::{Def, ImportForm, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

const DEFINITIONS: &[Def] = &[
    def("function_item", Kind::Function),
    def("function_signature_item", Kind::Function),
    def("struct_item", Kind::Struct),
    def("union_item", Kind::Struct),
    def("enum_item", Kind::Enum),
    def("enum_variant", Kind::Variant),
    def("trait_item", Kind::Trait),
    def("impl_item", Kind::Impl).named("type"),
    def("mod_item", Kind::Module).when(When::Body).otherwise(ImportForm::RustModule),
    def("const_item", Kind::Constant),
    def("static_item", Kind::Constant),
    def("type_item", Kind::TypeAlias),
    def("associated_type", Kind::TypeAlias),
    def("macro_definition", Kind::Macro),
    def("field_declaration", Kind::Field).when(When::Member),
];

pub(super) static SPEC: Spec = Spec {
    definitions: DEFINITIONS,
    calls: &[("call_expression", "function"), ("macro_invocation", "macro")],
    access: &[
        ("field_expression", "field", "value"),
        ("scoped_identifier", "name", "path"),
        ("scoped_type_identifier", "name", "path"),
        ("generic_function", "function", "-"),
        ("generic_type", "type", "-"),
        ("reference_type", "type", "-"),
    ],
    imports: &[("use_declaration", ImportForm::RustUse), ("extern_crate_declaration", ImportForm::RustCrate)],
    types: &["type_identifier"],
    identifiers: &["identifier", "field_identifier", "shorthand_field_identifier"],
    whole: &["self", "super", "crate", "primitive_type"],
    upper_fields: &["path"],
    token_parents: &["token_tree"],
    comments: &["line_comment", "block_comment"],
    attributes: &["attribute_item"],
    functions: &["closure_expression"],
    skipped: &["string_literal", "raw_string_literal", "token_tree_pattern"],
    builtins: &["Self", "Ok", "Err", "Some", "None"],
    ..Spec::EMPTY
};
