//! Ruby.

use super::{Def, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

const DEFINITIONS: &[Def] = &[
    def("method", Kind::Function),
    def("singleton_method", Kind::Function),
    def("class", Kind::Class),
    def("module", Kind::Module),
    def("assignment", Kind::Variable).named("left").when(When::Outside),
];

pub(super) static SPEC: Spec = Spec {
    definitions: DEFINITIONS,
    calls: &[("call", "method")],
    access: &[("call", "method", "receiver"), ("scope_resolution", "name", "scope")],
    types: &["constant"],
    identifiers: &["identifier"],
    whole: &["self", "instance_variable", "class_variable", "setter", "operator"],
    functions: &["lambda", "block", "do_block"],
    skipped: &["regex", "simple_symbol"],
    builtins: &["puts", "raise", "attr_reader", "attr_accessor", "attr_writer", "include", "extend"],
    ..Spec::EMPTY
};
