//! Which files are never read because of their name.
//!
//! One table, matched without regard to case against the file name alone. It errs towards refusing: a credential that
//! reaches a prompt cannot be called back, while a file that is not packed costs one answer.

use crate::path::RelPath;

/// Name patterns; `*` stands for any run of characters. Examples and public halves are let through by [`HARMLESS`].
const SECRET: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.p8",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.kdb",
    "*.ppk",
    "*.asc",
    "*.gpg",
    "*.age",
    "*.ovpn",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_xmss*",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".dockerconfigjson",
    ".vault-token",
    ".vault_pass*",
    "credentials",
    "credentials.*",
    "credentials-*",
    "credentials_*",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yml",
    "secrets.yaml",
    "secret.json",
    "secret.toml",
    "secret.yml",
    "secret.yaml",
    "master.key",
    "kubeconfig",
    "authorized_keys",
];

/// Names that a pattern above would catch and that hold no secret: templates, and source code that is merely *about*
/// credentials.
const HARMLESS: &[&str] = &[
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "example.env",
    "sample.env",
    "credentials*.rs",
    "credentials*.py",
    "credentials*.go",
    "credentials*.ts",
    "credentials*.tsx",
    "credentials*.js",
    "credentials*.java",
    "credentials*.kt",
    "credentials*.rb",
    "credentials*.c",
    "credentials*.h",
    "credentials*.cc",
    "credentials*.cpp",
    "credentials*.cs",
    "credentials*.swift",
    "credentials*.md",
    "credentials*.rst",
    "*.env.example",
];

/// Whether a file is never to be read, judged by its name.
pub fn is_secret(path: &RelPath) -> bool {
    let name = path.file_name().to_lowercase();
    let any = |table: &[&str]| table.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()));
    any(SECRET) && !any(HARMLESS)
}

/// Glob matching with `*` alone.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        // Most patterns are an ending, and this is asked for every file of a walk.
        Some((b'*', rest)) if !rest.contains(&b'*') => name.ends_with(rest),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| matches(rest, &name[skip..])),
        Some((first, rest)) => name.first() == Some(first) && matches(rest, &name[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_looks_like_a_credential() {
        for path in [
            ".env",
            "app/.env.production",
            ".ENV",
            "prod.env",
            "tls/server.pem",
            "server.KEY",
            "ca.p12",
            "id_rsa",
            "keys/id_ed25519.pub",
            "id_ecdsa-old",
            ".netrc",
            ".npmrc",
            ".pypirc",
            "credentials",
            "credentials.json",
            "aws/credentials.csv",
            "vault.kdbx",
            ".git-credentials",
            "terraform.tfstate",
            "service-account-prod.json",
        ] {
            assert!(is_secret(&RelPath::new(path).unwrap()), "{path}");
        }
    }

    #[test]
    fn lets_code_and_templates_through() {
        for path in [
            ".env.example",
            ".env.sample",
            "src/credentials.rs",
            "src/credentials_provider.go",
            "src/key.rs",
            "keyboard.ts",
            "environment.md",
            "identity.py",
            "monkey.txt",
            "pem.rs",
            "src/secret.rs",
            "id_map.c",
        ] {
            assert!(!is_secret(&RelPath::new(path).unwrap()), "{path}");
        }
    }
}
