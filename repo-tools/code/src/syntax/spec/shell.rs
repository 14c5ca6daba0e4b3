//! Bash.

use super::{Def, Spec, When, def};
use crate::syntax::parsed::DefinitionKind as Kind;

const DEFINITIONS: &[Def] =
    &[def("function_definition", Kind::Function), def("variable_assignment", Kind::Variable).when(When::Outside)];

pub(super) static SPEC: Spec = Spec {
    definitions: DEFINITIONS,
    calls: &[("command", "name")],
    access: &[("command_name", "", "-")],
    identifiers: &["word"],
    whole: &["variable_name"],
    wrappers: &["declaration_command"],
    functions: &["subshell"],
    skipped: &["raw_string", "heredoc_body"],
    builtins: &[
        "echo", "cd", "exit", "set", "test", "printf", "shift", "true", "false", "eval", "exec", "trap", "read", "wait",
    ],
    ..Spec::EMPTY
};
