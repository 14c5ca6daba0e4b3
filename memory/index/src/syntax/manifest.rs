//! Manifests that determine the meaning of imports.

use muninn_base::RelPath;
use serde_json::Value;

/// A manifest that names a package or maps imports to folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manifest {
    /// `Cargo.toml`
    Cargo,
    /// `go.mod`
    Go,
    /// `package.json`
    Npm,
    /// `tsconfig.json` and similar files.
    Script,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ManifestData {
    /// The package name as imports spell it; for scripts the base folder of plain imports.
    pub(super) package: Option<String>,
    /// Import patterns with their targets, relative to the manifest.
    pub(super) paths: Vec<(String, Vec<String>)>,
}

impl Manifest {
    /// The manifest type of a file, by its name.
    pub(crate) fn of(path: &RelPath) -> Option<Self> {
        match path.file_name() {
            "Cargo.toml" => Some(Self::Cargo),
            "go.mod" => Some(Self::Go),
            "package.json" => Some(Self::Npm),
            "jsconfig.json" => Some(Self::Script),
            name if name.starts_with("tsconfig") && name.ends_with(".json") => Some(Self::Script),
            _ => None,
        }
    }

    pub(super) fn read(self, text: &str) -> ManifestData {
        let package = match self {
            Self::Cargo => cargo(text),
            Self::Go => text
                .lines()
                .find_map(|line| line.trim().strip_prefix("module ")?.split_whitespace().next())
                .map(str::to_owned),
            Self::Npm => json(text).and_then(|json| Some(json.get("name")?.as_str()?.to_owned())),
            Self::Script => return script(text).unwrap_or_default(),
        };
        ManifestData { package, paths: Vec::new() }
    }
}

/// The name of a library crate: its own, or its package's.
fn cargo(text: &str) -> Option<String> {
    let (mut section, mut package, mut library) = ("", None, None);
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if let Some((key, value)) = line.split_once('=')
            && key.trim() == "name"
        {
            let name = value.trim().trim_matches(['"', '\'']);
            match section {
                "package" => package = Some(name),
                "lib" => library = Some(name),
                _ => {}
            }
        }
    }
    library.or(package).map(|name| name.replace('-', "_"))
}

fn script(text: &str) -> Option<ManifestData> {
    let json = json(text)?;
    let options = json.get("compilerOptions")?;
    let base = options.get("baseUrl").and_then(Value::as_str);
    let under = |target: &str| match base {
        Some(base) => format!("{base}/{target}"),
        None => target.to_owned(),
    };
    let targets = |value: &Value| -> Vec<String> {
        let list = value.as_array().map_or(&[] as &[_], Vec::as_slice);
        list.iter().filter_map(Value::as_str).map(under).collect()
    };
    let paths = options.get("paths").and_then(Value::as_object);
    Some(ManifestData {
        package: base.map(str::to_owned),
        paths: paths.into_iter().flatten().map(|(pattern, value)| (pattern.clone(), targets(value))).collect(),
    })
}

/// Parses JSON with comments and trailing commas.
fn json(text: &str) -> Option<Value> {
    if let Ok(json) = serde_json::from_str(text) {
        return Some(json);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                plain.push(c);
                while let Some(inner) = rest.next() {
                    plain.push(inner);
                    match inner {
                        '"' => break,
                        '\\' => plain.extend(rest.next()),
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut star = false;
                rest.next();
                for inner in rest.by_ref() {
                    if star && inner == '/' {
                        break;
                    }
                    star = inner == '*';
                }
            }
            ('}' | ']', _) => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    serde_json::from_str(&plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_give_packages_and_paths() {
        let package = |manifest: Manifest, text: &str| manifest.read(text).package;
        let cargo = "[package]\nname = \"a-b\"\n\n[[bin]]\nname = \"other\"\n";
        assert_eq!(package(Manifest::Cargo, cargo).as_deref(), Some("a_b"));
        let library = format!("{cargo}\n[lib]\nname = \"c\"\n");
        assert_eq!(package(Manifest::Cargo, &library).as_deref(), Some("c"));
        assert_eq!(package(Manifest::Npm, r#"{"name": "@x/y"}"#).as_deref(), Some("@x/y"));
        assert_eq!(package(Manifest::Npm, "not json"), None);
        let text = "{\n  // where \"things\" are\n  \"compilerOptions\": {\n    \"baseUrl\": \"src\", /* x */\n    \
                    \"paths\": { \"@/*\": [\"app/*\"], },\n  },\n}\n";
        let found = Manifest::Script.read(text);
        assert_eq!(found.package.as_deref(), Some("src"));
        assert_eq!(found.paths, [("@/*".to_owned(), vec!["src/app/*".to_owned()])]);
    }
}
