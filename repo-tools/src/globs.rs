//! Which paths a list of globs is about.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::FilterError;
use crate::path::RelPath;

/// Globs as a line of `.gitignore` writes them: `*.rs` is any such file, `src/auth/` all that is in there, `/Cargo.toml`
/// the one at the top. What one with a `!` before it means is left out, wherever that stands: git would not leave out a
/// directory inside of another that is meant, and whoever writes `!tests/` wants just that.
#[derive(Debug, Clone)]
pub struct GlobSet {
    meant: Gitignore,
    left_out: Gitignore,
}

impl GlobSet {
    /// Compiles them.
    ///
    /// # Errors
    /// Of the first that is malformed.
    pub fn new<'g>(globs: impl IntoIterator<Item = &'g str>) -> Result<Self, FilterError> {
        let (left_out, meant): (Vec<&str>, Vec<&str>) = globs.into_iter().partition(|glob| glob.starts_with('!'));
        Ok(Self {
            meant: compiled(&meant)?,
            left_out: compiled(&left_out)?,
        })
    }

    /// Whether a file is among those that are meant.
    pub fn matches(&self, path: &RelPath) -> bool {
        let path = path.to_path_buf();
        let among = |globs: &Gitignore| globs.matched_path_or_any_parents(&path, false).is_ignore();
        among(&self.meant) && !among(&self.left_out)
    }
}

fn compiled(globs: &[&str]) -> Result<Gitignore, FilterError> {
    let wrong = |glob: &str, error| FilterError::Glob {
        glob: glob.to_owned(),
        source: Box::new(error),
    };
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
    fn globs_mean_what_they_mean_to_git() {
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
