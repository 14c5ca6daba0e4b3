//! Secret files, recognised by their names and never read.
//!
//! The patterns match the file name alone and ignore case. They prefer false positives: a credential that was sent in a
//! prompt cannot be revoked from it, while a missing file only makes one answer worse.

use muninn_base::RelPath;

/// Name patterns of secrets; `*` matches any characters. [`HARMLESS`] lists the exceptions.
const SECRET: &[&str] = &[
    ".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.kdbx",
    "*.kdb", "*.ppk", "*.asc", "*.gpg", "*.age", "*.ovpn", "*.tfstate", "*.tfstate.*", "*.tfvars", "id_rsa*",
    "id_dsa*", "id_ecdsa*", "id_ed25519*", "id_xmss*", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf",
    ".htpasswd", ".git-credentials", ".dockercfg", ".dockerconfigjson", ".vault-token", ".vault_pass*", "credentials",
    "credentials.*", "credentials-*", "credentials_*", "client_secret*.json", "service-account*.json",
    "service_account*.json", "secrets.json", "secrets.toml", "secrets.yml", "secrets.yaml", "secret.json",
    "secret.toml", "secret.yml", "secret.yaml", "master.key", "kubeconfig", "authorized_keys",
];

/// Name patterns of files that [`SECRET`] matches but that contain no secret: templates, and source code about
/// credentials.
const HARMLESS: &[&str] = &[
    ".env.example", ".env.sample", ".env.template", ".env.dist", "example.env", "sample.env", "credentials*.rs",
    "credentials*.py", "credentials*.go", "credentials*.ts", "credentials*.tsx", "credentials*.js",
    "credentials*.java", "credentials*.kt", "credentials*.rb", "credentials*.c", "credentials*.h", "credentials*.cc",
    "credentials*.cpp", "credentials*.cs", "credentials*.swift", "credentials*.md", "credentials*.rst",
    "*.env.example",
];

/// Returns whether a file has the name of a secret and must not be read.
pub fn is_secret(path: &RelPath) -> bool {
    let name = path.file_name().to_lowercase();
    let any = |table: &[&str]| table.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()));
    any(SECRET) && !any(HARMLESS)
}

/// Matches a glob with `*` as the only wildcard.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        // The fast path: most patterns are a suffix, and every file of a walk is checked.
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
