//! Matching paths against a list of globs.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use muninn_base::RelPath;

use crate::files::FilterError;

/// Compiled globs in the syntax of `.gitignore`: `*.rs` matches every such file, `src/auth/` matches everything below
/// that directory, and `/Cargo.toml` matches only the file at the root. A glob with `!` excludes its matches at any
/// position in the list. Git cannot exclude a directory inside an included one; this type can, because `!tests/` asks
/// for exactly that.
#[derive(Debug, Clone)]
pub struct GlobSet {
    included: Gitignore,
    excluded: Gitignore,
}

impl GlobSet {
    /// Compiles globs.
    ///
    /// # Errors
    /// [`FilterError::Glob`] for the first malformed glob.
    pub fn new<'g>(globs: impl IntoIterator<Item = &'g str>) -> Result<Self, FilterError> {
        let (excluded, included): (Vec<&str>, Vec<&str>) = globs.into_iter().partition(|glob| glob.starts_with('!'));
        Ok(Self { included: compile(&included)?, excluded: compile(&excluded)? })
    }

    /// Returns whether the globs match a file.
    pub fn matches(&self, path: &RelPath) -> bool {
        let path = path.to_path_buf();
        let matched = |globs: &Gitignore| globs.matched_path_or_any_parents(&path, false).is_ignore();
        matched(&self.included) && !matched(&self.excluded)
    }
}

fn compile(globs: &[&str]) -> Result<Gitignore, FilterError> {
    let wrong = |glob: &str, error| FilterError::Glob { glob: glob.to_owned(), source: Box::new(error) };
    let mut builder = GitignoreBuilder::new("");
    for glob in globs {
        let plain = glob.trim_start_matches('!');
        builder.add_line(None, plain).map_err(|error| wrong(glob, error))?;
    }
    builder.build().map_err(|error| wrong(&globs.join(" "), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(globs: &[&str], path: &str) -> bool {
        let globs = GlobSet::new(globs.iter().copied()).unwrap();
        globs.matches(&RelPath::new(path).unwrap())
    }

    #[test]
    fn globs_match_as_in_gitignore() {
        for (globs, path, expected) in [
            (&["*.rs"][..], "src/deep/a.rs", true),
            (&["*.rs"], "src/a.rsx", false),
            (&["src/auth/"], "src/auth/deep/token.py", true),
            (&["src/auth"], "src/auth/token.py", true),
            (&["src/auth/**"], "src/authors.py", false),
            (&["/Cargo.toml"], "deep/Cargo.toml", false),
            (&["src/{a,b}/*.py"], "src/b/x.py", true),
            (&["src/**", "!src/tests/"], "src/tests/x.py", false),
            (&["src/**", "!src/tests/"], "src/x.py", true),
            (&[], "a", false),
        ] {
            assert_eq!(matches(globs, path), expected, "{globs:?} {path}");
        }
        assert!(matches!(GlobSet::new(["src/{a"]), Err(FilterError::Glob { glob, .. }) if glob == "src/{a"));
    }
}
