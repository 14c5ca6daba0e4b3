use super::super::language::Language;
use super::definition::Spec;
use super::{c, csharp, go, java, php, python, ruby, rust, script, shell};

pub(crate) fn of(language: Language) -> &'static Spec {
    match language {
        Language::Rust => &rust::SPEC,
        Language::Python => &python::SPEC,
        Language::JavaScript => &script::JAVASCRIPT,
        Language::TypeScript => &script::TYPESCRIPT,
        Language::Tsx => &script::TSX,
        Language::Go => &go::SPEC,
        Language::Java => &java::SPEC,
        Language::C => &c::C,
        Language::Cpp => &c::CPP,
        Language::CSharp => &csharp::SPEC,
        Language::Ruby => &ruby::SPEC,
        Language::Php => &php::SPEC,
        Language::Bash => &shell::SPEC,
    }
}
