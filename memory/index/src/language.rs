//! Classifies files by their path.

use muninn_base::RelPath;

/// How a file is split into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// By definitions.
    Code,
    /// By headings.
    Markdown,
    /// By runs of lines.
    Plain,
}

/// The language's name in Markdown, empty if unknown, and how its files are split.
pub fn language(path: &RelPath) -> (&'static str, Form) {
    use Form::{Code, Markdown, Plain};
    match path.file_name() {
        "Makefile" | "makefile" | "GNUmakefile" => return ("make", Plain),
        "Dockerfile" | "Containerfile" => return ("dockerfile", Plain),
        "justfile" | "Justfile" => return ("just", Plain),
        "CMakeLists.txt" => return ("cmake", Plain),
        "Rakefile" | "Gemfile" => return ("ruby", Code),
        _ => {}
    }
    match path.extension().to_ascii_lowercase().as_str() {
        "rs" => ("rust", Code),
        "py" | "pyi" | "pyx" => ("python", Code),
        "js" | "mjs" | "cjs" | "jsx" => ("javascript", Code),
        "ts" | "mts" | "cts" => ("typescript", Code),
        "tsx" => ("tsx", Code),
        "go" => ("go", Code),
        "java" => ("java", Code),
        "kt" | "kts" => ("kotlin", Code),
        "c" | "h" => ("c", Code),
        "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "inl" => ("cpp", Code),
        "cs" => ("csharp", Code),
        "swift" => ("swift", Code),
        "scala" | "sc" => ("scala", Code),
        "rb" | "rake" => ("ruby", Code),
        "php" => ("php", Code),
        "ex" | "exs" => ("elixir", Code),
        "erl" | "hrl" => ("erlang", Code),
        "hs" => ("haskell", Code),
        "ml" | "mli" => ("ocaml", Code),
        "lua" => ("lua", Code),
        "zig" => ("zig", Code),
        "dart" => ("dart", Code),
        "r" => ("r", Code),
        "jl" => ("julia", Code),
        "pl" | "pm" => ("perl", Code),
        "m" | "mm" => ("objectivec", Code),
        "sh" | "bash" | "zsh" => ("bash", Code),
        "proto" => ("protobuf", Code),
        "graphql" | "gql" => ("graphql", Code),
        "vue" => ("vue", Code),
        "svelte" => ("svelte", Code),
        "sql" => ("sql", Plain),
        "md" | "markdown" | "mdx" => ("markdown", Markdown),
        "html" | "htm" => ("html", Plain),
        "css" | "scss" | "less" => ("css", Plain),
        "json" | "jsonl" | "ipynb" => ("json", Plain),
        "yaml" | "yml" => ("yaml", Plain),
        "toml" => ("toml", Plain),
        "xml" | "svg" => ("xml", Plain),
        _ => ("", Plain),
    }
}

/// The role of a file. All except sources are ranked lower, unless the question asks about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FileRole {
    /// Product sources.
    Source,
    /// Tests, benchmarks, fixtures.
    Test,
    /// Documentation, examples, change logs.
    Docs,
    /// Manifests, settings of tools and continuous integration.
    Settings,
    /// Generated or vendored files; translations.
    Generated,
    /// Templates for issues and pull requests, whose sentences issues repeat.
    Template,
}

/// The kind of text in a file. Words are counted by kind, because code and prose use different words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Code,
    Prose,
}

impl FileRole {
    /// `None` for settings and generated files, whose words say little about a repository.
    pub fn kind(self) -> Option<FileKind> {
        match self {
            FileRole::Source | FileRole::Test => Some(FileKind::Code),
            FileRole::Docs => Some(FileKind::Prose),
            FileRole::Settings | FileRole::Generated | FileRole::Template => None,
        }
    }
}

/// Whether a file answers no question that does not name it: a licence, or a shell's completions.
pub fn is_boilerplate(path: &RelPath) -> bool {
    let lower = path.as_str().to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let legal = ["license", "licence", "copying", "copyright", "notice", "unlicense"];
    let completions = ["completion", "completions", "complete"];
    legal.iter().any(|word| name.starts_with(word)) && !matches!(language(path).1, Form::Code)
        || folders.split('/').any(|folder| completions.contains(&folder)) && matches!(language(path).0, "" | "bash")
}

pub fn file_role(path: &RelPath) -> FileRole {
    let lower = path.as_str().to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let folder = |names: &[&str]| lower.rsplit('/').skip(1).any(|part| names.contains(&part));
    let generated_name =
        [".lock", ".min.js", ".min.css", ".map", ".snap", ".pb.go", "_pb2.py", ".svg", ".csv", ".tsv", ".po", ".pot"];
    let locks = ["package-lock.json", "pnpm-lock.yaml", "go.sum", "composer.lock"];
    if generated_name.iter().any(|end| name.ends_with(end))
        || locks.contains(&name)
        || folder(&["vendor", "vendored", "third_party", "third-party", "node_modules", "generated", "dist"])
    {
        return FileRole::Generated;
    }
    let stem = name.split('.').next().unwrap_or(name);
    if folder(&["issue_template", "pull_request_template"])
        || ["issue_template", "pull_request_template", "contributing", "code_of_conduct"].contains(&stem)
    {
        return FileRole::Template;
    }
    let tests = ["test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures", "benches", "e2e"];
    if folder(&tests)
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || ["test", "tests", "conftest"].contains(&stem)
        || [".test.", ".spec."].iter().any(|mark| name.contains(mark))
    {
        return FileRole::Test;
    }
    let docs = ["docs", "doc", "documentation", "examples", "example", "changelog", "changelogs"];
    let prose = [".md", ".rst", ".adoc", ".txt", ".mdx"].iter().any(|end| name.ends_with(end));
    let settings = [
        ".toml", ".yml", ".yaml", ".ini", ".cfg", ".json", ".xml", ".properties", ".editorconfig", ".gitignore",
        ".gitattributes",
    ];
    if folder(&docs) || prose || ["license", "changes", "changelog", "news", "authors", "history"].contains(&stem) {
        FileRole::Docs
    } else if folder(&[".github", ".circleci", ".gitlab"]) || settings.iter().any(|end| name.ends_with(end)) {
        FileRole::Settings
    } else {
        FileRole::Source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_paths() {
        let file_role = |path| super::file_role(&RelPath::new(path).unwrap());
        for path in ["src/lib.rs", "src/latest.py", "contest/main.go", "src/attest.rs", "build.rs"] {
            assert_eq!(file_role(path), FileRole::Source, "{path}");
        }
        for path in ["tests/a.rs", "pkg/x_test.go", "src/test_x.py", "a/__tests__/b.js", "ui/b.spec.ts"] {
            assert_eq!(file_role(path), FileRole::Test, "{path}");
        }
        for path in ["Cargo.toml", ".github/workflows/ci.yml", "setup.cfg", "schema/app.json"] {
            assert_eq!(file_role(path), FileRole::Settings, "{path}");
        }
        for path in [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE.md", "CONTRIBUTING.md"] {
            assert_eq!(file_role(path), FileRole::Template, "{path}");
        }
        for path in ["README.md", "docs/conf.py", "examples/a.rs", "LICENSE", "CHANGES"] {
            assert_eq!(file_role(path), FileRole::Docs, "{path}");
        }
        for path in ["Cargo.lock", "vendor/a/b.go", "web/app.min.js", "go.sum", "locale/de/a.po"] {
            assert_eq!(file_role(path), FileRole::Generated, "{path}");
        }
    }

    #[test]
    fn licences_and_completions_are_boilerplate_and_code_is_not() {
        let is = |path: &str| is_boilerplate(&RelPath::new(path).unwrap());
        for path in ["LICENSE-APACHE", "legal/COPYING.txt", "contrib/completion/_fd", "completions/fd.bash"] {
            assert!(is(path), "{path}");
        }
        for path in ["src/license.rs", "src/completions/mod.rs", "README.md", "completions.md"] {
            assert!(!is(path), "{path}");
        }
    }
}
