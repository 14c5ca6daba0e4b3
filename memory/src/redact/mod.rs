//! Cutting known shapes of secrets out of a text before it goes into a prompt, a record, a receipt or a log.
//!
//! Only shapes that are unmistakable are cut. A guess from entropy would eat git hashes, UUIDs and test vectors, and a
//! reader who finds those missing turns redaction off. The number of lines is kept, so that line numbers taken after
//! redaction are those of the file.

mod rules;

use std::borrow::Cow;

use regex::Captures;

use rules::{RULES, Rule};

/// The text with every secret of a known shape replaced by `[redacted:KIND]`.
///
/// Most texts hold none and come back as they are, after a search for literals.
pub fn redact(text: &str) -> Cow<'_, str> {
    RULES.iter().fold(Cow::Borrowed(text), |text, rule| {
        if !rule.may_match(&text) {
            return text;
        }
        match rule.replace(&text) {
            Some(replaced) => Cow::Owned(replaced),
            None => text,
        }
    })
}

impl Rule {
    /// The text with this rule's secrets cut out; `None` if it has none.
    fn replace(&self, text: &str) -> Option<String> {
        let mut found = false;
        let replaced = self.pattern.replace_all(text, |captures: &Captures<'_>| {
            let whole = &captures[0];
            let Some(secret) = captures
                .name("secret")
                .filter(|secret| (self.plausible)(secret.as_str()))
            else {
                return whole.to_owned();
            };
            found = true;
            let start = captures.get(0).map_or(0, |all| all.start());
            let (before, after) = (&whole[..secret.start() - start], &whole[secret.end() - start..]);
            let lines = secret.as_str().matches('\n').count();
            format!("{before}[redacted:{}]{}{after}", self.kind, "\n".repeat(lines))
        });
        found.then(|| replaced.into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Assembled at run time, so that no scanner takes this file for a leak.
    fn secret(prefix: &str, alphabet: &str, len: usize) -> String {
        prefix.chars().chain(alphabet.chars().cycle().take(len)).collect()
    }

    const ALNUM: &str = "a1B2c3D4e5F6g7H8i9J0";

    #[test]
    fn every_known_shape_is_cut() {
        let shapes = [
            ("anthropic-key", secret("sk-ant-api03-", ALNUM, 40)),
            ("openai-key", secret("sk-proj-", ALNUM, 40)),
            ("openai-key", secret("sk-", ALNUM, 48)),
            ("openai-key", secret("sk-svcacct-", ALNUM, 30)),
            ("github-token", secret("ghp_", ALNUM, 36)),
            ("github-token", secret("gho_", ALNUM, 36)),
            ("github-token", secret("ghs_", ALNUM, 36)),
            ("github-token", secret("github_pat_", ALNUM, 60)),
            ("aws-access-key", secret("AKIA", "ABCDEFGH234567", 16)),
            ("aws-access-key", secret("ASIA", "ABCDEFGH234567", 16)),
            ("slack-token", secret("xoxb-", "1234567890-", 30)),
            ("google-key", secret("AIza", ALNUM, 35)),
            ("gitlab-token", secret("glpat-", ALNUM, 20)),
            ("npm-token", secret("npm_", ALNUM, 36)),
            ("pypi-token", secret("pypi-AgEIcHlwaS5vcmc", ALNUM, 60)),
            ("huggingface-token", secret("hf_", "aBcDeFgHiJ", 34)),
            ("stripe-key", secret("sk_live_", ALNUM, 24)),
            (
                "jwt",
                format!(
                    "{}.{}.{}",
                    secret("eyJ", ALNUM, 20),
                    secret("eyJ", ALNUM, 30),
                    secret("", ALNUM, 43)
                ),
            ),
        ];
        for (kind, shape) in shapes {
            for (before, after) in [("", ""), ("key = \"", "\""), ("x: ", "\nnext"), ("(", ")"), ("`", "`.")] {
                let text = format!("{before}{shape}{after}");
                assert_eq!(redact(&text), format!("{before}[redacted:{kind}]{after}"), "{shape}");
            }
        }
    }

    #[test]
    fn only_the_secret_part_of_an_assignment_or_a_url_is_cut() {
        let aws = secret("", "wJalrXUtnFEMI/K7MDENG+bPxRfiCY", 40);
        let cases = [
            (
                format!("aws_secret_access_key = \"{aws}\""),
                "aws_secret_access_key = \"[redacted:aws-secret-key]\"",
            ),
            (
                format!("AWS_SECRET_ACCESS_KEY={aws}\n"),
                "AWS_SECRET_ACCESS_KEY=[redacted:aws-secret-key]\n",
            ),
            (
                "postgres://app:hunter2@db:5432/x".to_owned(),
                "postgres://app:[redacted:url-password]@db:5432/x",
            ),
            (
                "redis://:s3cr3t@cache".to_owned(),
                "redis://:[redacted:url-password]@cache",
            ),
            (
                format!("Authorization: Bearer {}", secret("", ALNUM, 32)),
                "Authorization: Bearer [redacted:bearer-token]",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(redact(&text), expected);
        }
    }

    #[test]
    fn a_private_key_goes_whole_and_its_lines_stay_counted() {
        let body = format!("{}\n{}\n", secret("MII", ALNUM, 61), secret("", ALNUM, 64));
        for kind in [
            "RSA PRIVATE KEY",
            "PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        ] {
            let text = format!("before\n-----BEGIN {kind}-----\n{body}-----END {kind}-----\nafter\n");
            let cut = redact(&text);
            assert_eq!(cut.lines().count(), text.lines().count());
            assert_eq!(cut.lines().nth(1), Some("[redacted:private-key]"));
            assert_eq!(cut.lines().last(), Some("after"));
        }
        let torn = format!("-----BEGIN PRIVATE KEY-----\n{body}");
        assert!(!redact(&torn).contains("MII"));
        let escaped = format!(
            r#""-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n""#,
            body.trim()
        );
        assert!(!redact(&escaped).contains("MII"));
    }

    #[test]
    fn what_only_looks_random_survives() {
        for text in [
            "commit b61e0875c0ffee1234567890abcdef1234567890",
            "550e8400-e29b-41d4-a716-446655440000",
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "TWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsuTWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsu",
            "sk-toggleable__content-with-a-long-class-name",
            "sk-estimator",
            "npm_config_registry and npm_package_json_name_is_long",
            "hf_hub_download(repo_id, filename)",
            "pypi-server",
            "ghp_ is the prefix of a personal token",
            "the header is `Authorization: Bearer <token>`",
            "bearer authentication-scheme-negotiation",
            "https://example.com:8080/path@v2 and https://user@example.com",
            "postgres://app:${PASSWORD}@db and mysql://{user}:{password}@{host}",
            "starts with \"-----BEGIN PRIVATE KEY-----\" and goes on",
            "let eyJustALongIdentifierName = eyJoin.method.chain",
            "AKIAlowercase, MALAKIA, ASIA PACIFIC",
            "AIzation of things",
            "fn replay_normalised_conversation_blocks_in_order()",
            "xoxo-hugs-and-kisses",
            "aws_secret_access_key = std::env::var(name)",
        ] {
            assert!(
                matches!(redact(text), Cow::Borrowed(same) if same == text),
                "{text} -> {}",
                redact(text)
            );
        }
    }

    #[test]
    fn a_text_may_hold_many() {
        let key = secret("ghp_", ALNUM, 36);
        let text = format!("{key} {key}\nredis://:pw@h {key}");
        let github = "[redacted:github-token]";
        assert_eq!(
            redact(&text),
            format!("{github} {github}\nredis://:[redacted:url-password]@h {github}")
        );
    }
}
