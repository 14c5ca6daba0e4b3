//! Finds `Result` types with `String` as the error.

use std::path::Path;

use syn::visit::{self, Visit};
use syn::{GenericArgument, PathArguments, PathSegment, Type};

use super::sources::sources;

/// The modules of a crate that use `Result<_, String>` outside of tests in a signature, an alias, a field or a closure,
/// with one entry for each use.
pub(super) fn string_errors(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources(folder) {
        let mut reader = Reader { count: 0 };
        reader.visit_file(&source.file);
        found.extend(std::iter::repeat_n(source.module.join("::"), reader.count));
    }
    found
}

struct Reader {
    count: usize,
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_path_segment(&mut self, segment: &'ast PathSegment) {
        self.count += usize::from(segment.ident == "Result" && has_string_error(&segment.arguments));
        visit::visit_path_segment(self, segment);
    }
}

fn has_string_error(arguments: &PathArguments) -> bool {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return false;
    };
    match arguments.args.get(1) {
        Some(GenericArgument::Type(Type::Path(error))) => {
            error.path.segments.last().is_some_and(|last| last.ident == "String")
        }
        _ => false,
    }
}

#[test]
fn string_errors_are_counted_outside_of_tests() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "lib.rs",
        "mod a; type Made = Result<(u8, Vec<u8>), String>; fn f() -> Result<String, Fault> { loop {} }\n\
         #[cfg(test)] mod tests { fn f() -> Result<(), String> { Ok(()) } }",
    );
    write(
        "a.rs",
        "impl A {\n    fn f(\n        &self,\n        see: &mut dyn FnMut(Result<u8, std::string::String>),\n    ) -> std::result::Result<\n        u8,\n        String,\n    > {\n        Ok(1)\n    }\n    #[cfg(test)] fn g() -> Result<(), String> { Ok(()) }\n}",
    );
    assert_eq!(string_errors(folder.path()), ["", "a", "a"]);
}
