//! Creates a knowledge file with front matter and a heading.

use muninn_base::RelPath;
use muninn_repo_tools::front_matter::quoted;
use muninn_repo_tools::{GlobSet, Worktree};
use muninn_text::redact::redact;
use thiserror::Error;
use unicode_normalization::UnicodeNormalization as _;

use super::ROOT;
use super::front::{ProblemKind, confidence};
use super::write::{KnowledgeDir, WriteError};

/// Maximum length of a file name without extension, in bytes.
const MAX_SLUG_BYTES: usize = 80;

/// The content of a new file.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The heading.
    pub title: String,
    /// `convention`, `decision`, ...
    pub kind: Option<String>,
    pub domain: Option<String>,
    /// `high`, `medium`, `low` or a number from 0 to 1.
    pub confidence: Option<String>,
    pub source: Option<String>,
    /// Globs of the files that the document is about.
    pub applies_to: Vec<String>,
}

/// Why no file was created.
#[derive(Debug, Error)]
pub enum NewError {
    /// The title has no letters or digits.
    #[error("a title needs letters or digits")]
    NoTitle,
    /// Invalid front matter.
    #[error(transparent)]
    Value(#[from] ProblemKind),
    /// The text contains a secret, which must not reach git.
    #[error("it holds a secret")]
    Secret,
    /// The file exists.
    #[error("{path} already exists")]
    Exists {
        /// The file.
        path: RelPath,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Creates a file and returns its path. An existing file is never overwritten.
///
/// # Errors
/// [`NewError`]. Nothing is written then.
pub fn create(worktree: &Worktree, draft: &Draft) -> Result<RelPath, NewError> {
    let mut folder = KnowledgeDir::of(worktree)?;
    let below = slug(&draft.title).and_then(|slug| RelPath::new(&format!("{slug}.md")).ok());
    let below = below.ok_or(NewError::NoTitle)?;
    let text = draft.text()?;
    if redact(&text) != text {
        return Err(NewError::Secret);
    }
    let path = RelPath::new(&format!("{ROOT}/{below}")).map_err(|_| NewError::NoTitle)?;
    if folder.create(&below, text.as_bytes())? { Ok(path) } else { Err(NewError::Exists { path }) }
}

impl Draft {
    fn text(&self) -> Result<String, NewError> {
        if let Some(value) = self.confidence.as_ref().filter(|value| confidence(value).is_none()) {
            return Err(ProblemKind::Confidence { value: value.clone() }.into());
        }
        if let Some(glob) = self.applies_to.iter().find(|glob| GlobSet::new([glob.as_str()]).is_err()) {
            return Err(ProblemKind::Glob { glob: glob.clone() }.into());
        }
        let globs: Vec<String> = self.applies_to.iter().map(|glob| quoted(glob)).collect();
        let entries = [
            ("type", self.kind.as_deref().map(quoted)),
            ("domain", self.domain.as_deref().map(quoted)),
            ("confidence", self.confidence.as_deref().map(quoted)),
            ("source", self.source.as_deref().map(quoted)),
            ("applies_to", (!globs.is_empty()).then(|| format!("[{}]", globs.join(", ")))),
        ];
        let entries = entries.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}\n", value?)));
        let title: Vec<&str> = self.title.split_whitespace().collect();
        Ok(format!("---\n{}---\n# {}\n\n", entries.collect::<String>(), title.join(" ")))
    }
}

/// The file name of a title: its letters of any script and its digits, in lower case and without accents, with `-` for
/// all else. `None` if it has none.
fn slug(title: &str) -> Option<String> {
    let accent = |c: &char| ('\u{300}'..='\u{36f}').contains(c);
    let mut slug = String::new();
    for c in title.nfkd().filter(|c| !accent(c)).nfc().flat_map(char::to_lowercase) {
        let is_mark = unicode_normalization::char::is_combining_mark(c);
        if c.is_alphanumeric() || is_mark && !slug.is_empty() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.floor_char_boundary(MAX_SLUG_BYTES));
    let slug = slug.trim_end_matches('-');
    (!slug.is_empty()).then(|| slug.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::knowledge::front;
    use muninn_base::page_files::FileError;

    #[test]
    fn titles_become_portable_file_names() {
        for (title, expected) in [
            ("Error handling: codes & details", Some("error-handling-codes-details")),
            ("Über Größe, naïve", Some("uber-große-naive")),
            ("エラー処理 の方針", Some("エラー処理-の方針")),
            ("../../etc/passwd", Some("etc-passwd")),
            ("한국어", Some("한국어")),
            ("🦉 ...", None),
            ("", None),
        ] {
            assert_eq!(slug(title).as_deref(), expected, "{title}");
        }
        assert!(slug(&"語".repeat(100)).unwrap().len() <= MAX_SLUG_BYTES);
    }

    #[test]
    fn created_file_parses_to_its_draft() {
        let repo = Fixture::with(&[(".muninn/config.toml", "")]);
        let draft = Draft {
            title: "Codes: \n never  guess".to_owned(),
            kind: Some("convention".to_owned()),
            domain: Some("http: errors # all".to_owned()),
            confidence: Some("0.75".to_owned()),
            source: None,
            applies_to: vec!["*.rs".to_owned(), "src/{a,b}/**".to_owned()],
        };
        let path = create(&repo.worktree(), &draft).unwrap();
        assert_eq!(path.as_str(), ".muninn/knowledge/codes-never-guess.md");
        let text = std::fs::read_to_string(repo.path(path.as_str())).unwrap();
        let read = front(&text);
        assert_eq!(read.problems, []);
        assert_eq!((read.kind, read.domain), (draft.kind.clone(), draft.domain.clone()));
        assert_eq!((read.confidence, read.source, &read.applies_to), (Some(0.75), None, &draft.applies_to));
        assert_eq!(read.body, "# Codes: never guess\n\n");

        repo.write(path.as_str(), b"mine");
        assert!(matches!(create(&repo.worktree(), &draft), Err(NewError::Exists { .. })));
        assert_eq!(std::fs::read(repo.path(path.as_str())).unwrap(), b"mine");
    }

    #[test]
    fn invalid_drafts_and_missing_setup_write_nothing() {
        let repo = Fixture::with(&[]);
        let draft = |title: &str| Draft { title: title.to_owned(), ..Draft::default() };
        let made = |draft: &Draft| create(&repo.worktree(), draft);
        assert!(matches!(made(&draft("A")), Err(NewError::Write(WriteError::NotSetUp { .. }))));
        std::fs::create_dir(repo.path(".muninn")).unwrap();
        let token = format!("ghp_{}", "a1B2c3".repeat(6));
        assert!(matches!(made(&draft(&token)), Err(NewError::Secret)));
        assert!(matches!(made(&draft("---")), Err(NewError::NoTitle)));
        for (confidence, glob) in [(Some("sure"), None), (None, Some("{a"))] {
            let wrong = Draft {
                confidence: confidence.map(str::to_owned),
                applies_to: glob.map(str::to_owned).into_iter().collect(),
                ..draft("A")
            };
            assert!(matches!(made(&wrong), Err(NewError::Value(_))));
        }
        assert!(!repo.path(".muninn/knowledge").exists());
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_are_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        let draft = Draft { title: "A".to_owned(), ..Draft::default() };
        for link in [".muninn", ".muninn/knowledge"] {
            let repo = Fixture::with(&[]);
            let path = repo.path(link);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(outside.path(), path).unwrap();
            let error = create(&repo.worktree(), &draft).unwrap_err();
            assert!(matches!(error, NewError::Write(WriteError::File(FileError::NotADirectory { .. }))), "{link}");
        }
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
