//! The parsed languages, and detecting the language of a file.

use std::fmt;

use muninn_base::RelPath;
use serde::{Deserialize, Serialize};

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the variants are names of languages")]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    Go,
    Java,
    C,
    Cpp,
    CSharp,
    Ruby,
    Php,
    Bash,
}

/// Languages by file extension, without the dot.
const EXTENSIONS: &[(&str, Language)] = &[
    ("rs", Language::Rust),
    ("py", Language::Python),
    ("pyi", Language::Python),
    ("pyw", Language::Python),
    ("js", Language::JavaScript),
    ("jsx", Language::JavaScript),
    ("mjs", Language::JavaScript),
    ("cjs", Language::JavaScript),
    ("ts", Language::TypeScript),
    ("mts", Language::TypeScript),
    ("cts", Language::TypeScript),
    ("tsx", Language::Tsx),
    ("go", Language::Go),
    ("java", Language::Java),
    ("c", Language::C),
    // A C++ parser accepts C headers, too.
    ("h", Language::Cpp),
    ("cc", Language::Cpp),
    ("cpp", Language::Cpp),
    ("cxx", Language::Cpp),
    ("c++", Language::Cpp),
    ("hh", Language::Cpp),
    ("hpp", Language::Cpp),
    ("hxx", Language::Cpp),
    ("inl", Language::Cpp),
    ("ipp", Language::Cpp),
    ("cu", Language::Cpp),
    ("cuh", Language::Cpp),
    ("cs", Language::CSharp),
    ("rb", Language::Ruby),
    ("rake", Language::Ruby),
    ("gemspec", Language::Ruby),
    ("ru", Language::Ruby),
    ("php", Language::Php),
    ("phtml", Language::Php),
    ("sh", Language::Bash),
    ("bash", Language::Bash),
    ("ksh", Language::Bash),
    ("bats", Language::Bash),
];

/// Languages by file name.
const NAMES: &[(&str, Language)] = &[
    ("Rakefile", Language::Ruby),
    ("Gemfile", Language::Ruby),
    ("Vagrantfile", Language::Ruby),
    ("SConstruct", Language::Python),
    (".bashrc", Language::Bash),
    (".profile", Language::Bash),
];

/// Languages by the interpreter of a `#!` line.
const INTERPRETERS: &[(&str, Language)] = &[
    ("python", Language::Python),
    ("bash", Language::Bash),
    ("sh", Language::Bash),
    ("dash", Language::Bash),
    ("ksh", Language::Bash),
    ("node", Language::JavaScript),
    ("deno", Language::TypeScript),
    ("ruby", Language::Ruby),
    ("php", Language::Php),
];

impl Language {
    pub const ALL: [Self; 13] = [
        Self::Rust,
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Ruby,
        Self::Php,
        Self::Bash,
    ];

    /// Detects the language by the file's name; `None` if there is no grammar for it.
    pub fn of_path(path: &RelPath) -> Option<Self> {
        let find = |table: &[(&str, Self)], key: &str| table.iter().find(|(name, _)| *name == key).map(|(_, of)| *of);
        let extension = path.extension();
        find(NAMES, path.file_name())
            .or_else(|| find(EXTENSIONS, extension))
            .or_else(|| find(EXTENSIONS, &extension.to_ascii_lowercase()))
    }

    /// Detects the language by the file's name, or by its `#!` line if the name has no extension.
    pub fn of(path: &RelPath, source: &str) -> Option<Self> {
        Self::of_path(path).or_else(|| {
            let first = source.lines().next()?.strip_prefix("#!")?;
            if !path.extension().is_empty() {
                return None;
            }
            let mut words = first.split_whitespace();
            let program = words.next()?.rsplit('/').next()?;
            let program = if program == "env" {
                words.find(|word| !word.starts_with('-') && !word.contains('='))?
            } else {
                program
            };
            let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            INTERPRETERS.iter().find(|(name, _)| *name == plain).map(|(_, of)| *of)
        })
    }

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::JavaScript => "JavaScript",
            Self::TypeScript => "TypeScript",
            Self::Tsx => "TSX",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::CSharp => "C#",
            Self::Ruby => "Ruby",
            Self::Php => "PHP",
            Self::Bash => "Bash",
        }
    }

    /// Returns whether code in one language can use definitions of the other, such as TypeScript and JavaScript.
    pub fn is_related_to(self, other: Self) -> bool {
        let family = |language| match language {
            Self::TypeScript | Self::Tsx => Self::JavaScript,
            Self::Cpp => Self::C,
            other => other,
        };
        family(self) == family(other)
    }

    pub(super) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::C => tree_sitter_c::LANGUAGE,
            Self::Cpp => tree_sitter_cpp::LANGUAGE,
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE,
            Self::Ruby => tree_sitter_ruby::LANGUAGE,
            Self::Php => tree_sitter_php::LANGUAGE_PHP,
            Self::Bash => tree_sitter_bash::LANGUAGE,
        }
        .into()
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_detected_by_name_then_by_first_line() {
        for (path, first, expected) in [
            ("src/a.rs", "", Some(Language::Rust)),
            ("a.H", "", Some(Language::Cpp)),
            ("Rakefile", "", Some(Language::Ruby)),
            ("bin/tool", "#!/usr/bin/env -S python3.11 -u\n", Some(Language::Python)),
            ("bin/tool", "#!/bin/sh -e", Some(Language::Bash)),
            ("bin/tool", "#!/usr/bin/perl", None),
            ("notes.txt", "#!/bin/sh", None),
            ("tool", "no first line", None),
            ("README.md", "", None),
        ] {
            let path = RelPath::new(path).unwrap();
            assert_eq!(Language::of(&path, first), expected, "{path}");
        }
    }
}
