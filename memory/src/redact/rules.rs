//! The shapes, as data.

use std::sync::LazyLock;

use regex::Regex;

/// One shape: `secret` in the pattern names what is cut out.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    /// A text without any of these literals has no such secret. Finding that out is all that most texts cost.
    pub(super) hints: &'static [&'static str],
    pub(super) pattern: Regex,
    /// A last look at what was found, for what a regular expression cannot say.
    pub(super) plausible: fn(&str) -> bool,
}

/// A rule as it is written: `mixed` if the secret must hold both a digit and a letter, which tells keys from
/// identifiers.
struct Shape {
    kind: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    mixed: bool,
}

const fn shape(kind: &'static str, hints: &'static [&'static str], pattern: &'static str) -> Shape {
    Shape {
        kind,
        hints,
        pattern,
        mixed: false,
    }
}

const fn mixed(kind: &'static str, hints: &'static [&'static str], pattern: &'static str) -> Shape {
    Shape {
        kind,
        hints,
        pattern,
        mixed: true,
    }
}

/// The shapes. Order matters: the narrower one first.
const SHAPES: &[Shape] = &[
    shape(
        "private-key",
        &["-----BEGIN "],
        r"(?P<secret>-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s\\:,.()]|-[A-Za-z0-9]){40,}(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?)",
    ),
    shape(
        "anthropic-key",
        &["sk-ant-"],
        r"\b(?P<secret>sk-ant-[A-Za-z0-9_-]{16,})",
    ),
    mixed(
        "openai-key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-"],
        r"\b(?P<secret>sk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{16,})",
    ),
    mixed("openai-key", &["sk-"], r"\b(?P<secret>sk-[A-Za-z0-9]{20,})\b"),
    mixed(
        "github-token",
        &["ghp_", "gho_", "ghs_", "ghu_", "ghr_"],
        r"\b(?P<secret>gh[opsur]_[A-Za-z0-9]{20,})",
    ),
    mixed(
        "github-token",
        &["github_pat_"],
        r"\b(?P<secret>github_pat_[A-Za-z0-9_]{20,})",
    ),
    shape(
        "aws-access-key",
        &["AKIA", "ASIA"],
        r"\b(?P<secret>A(?:KIA|SIA)[A-Z0-9]{16})\b",
    ),
    shape(
        "aws-secret-key",
        &["ecret", "SECRET"],
        r#"(?i)aws_?secret_?(?:access_?)?key["']?\s*[:=]>?\s*["']?(?P<secret>[A-Za-z0-9/+]{40})\b"#,
    ),
    mixed("slack-token", &["xox"], r"\b(?P<secret>xox[abeoprs]-[A-Za-z0-9-]{10,})"),
    mixed("google-key", &["AIza"], r"\b(?P<secret>AIza[A-Za-z0-9_-]{35})"),
    mixed("gitlab-token", &["glpat-"], r"\b(?P<secret>glpat-[A-Za-z0-9_-]{20,})"),
    mixed("npm-token", &["npm_"], r"\b(?P<secret>npm_[A-Za-z0-9]{36})\b"),
    mixed("pypi-token", &["pypi-"], r"\b(?P<secret>pypi-[A-Za-z0-9_-]{50,})"),
    shape("huggingface-token", &["hf_"], r"\b(?P<secret>hf_[A-Za-z0-9]{30,})\b"),
    mixed(
        "stripe-key",
        &["k_live_", "k_test_"],
        r"\b(?P<secret>[rs]k_(?:live|test)_[A-Za-z0-9]{16,})",
    ),
    shape(
        "jwt",
        &["eyJ"],
        r"\b(?P<secret>eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})",
    ),
    mixed(
        "bearer-token",
        &["earer ", "EARER "],
        r"(?i)\bbearer\s+(?P<secret>[A-Za-z0-9._~+/-]{20,}=*)",
    ),
    shape(
        "url-password",
        &["://"],
        r#"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/@"'`<>{}$]*:(?P<secret>[^\s:/@"'`<>{}$\[\]]+)@"#,
    ),
];

/// The patterns are constants, and a test compiles each.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rule = |shape: &Shape| {
        let plausible: fn(&str) -> bool = if shape.mixed { has_letters_and_digits } else { |_| true };
        let pattern = regex::RegexBuilder::new(shape.pattern)
            .size_limit(1 << 20)
            .build()
            .ok()?;
        Some(Rule {
            kind: shape.kind,
            hints: shape.hints,
            pattern,
            plausible,
        })
    };
    SHAPES.iter().filter_map(rule).collect()
});

impl Rule {
    /// Whether a text may hold such a secret.
    pub(super) fn may_match(&self, text: &str) -> bool {
        self.hints
            .iter()
            .any(|hint| memchr::memmem::find(text.as_bytes(), hint.as_bytes()).is_some())
    }
}

fn has_letters_and_digits(secret: &str) -> bool {
    let body = secret.split_once(['-', '_']).map_or(secret, |(_, body)| body);
    body.bytes().any(|b| b.is_ascii_digit()) && secret.bytes().any(|b| b.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles_and_names_its_secret() {
        assert_eq!(RULES.len(), SHAPES.len());
        for rule in RULES.iter() {
            assert!(
                rule.pattern.capture_names().any(|name| name == Some("secret")),
                "{}",
                rule.kind
            );
            assert!(!rule.hints.is_empty());
        }
    }
}
