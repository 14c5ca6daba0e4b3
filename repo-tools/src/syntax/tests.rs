//! The samples, taken apart, held to what they were when a person read them; and what strangers' files may do.
//!
//! `MUNINN_BLESS=1 cargo test -p muninn-repo-tools syntax` writes the expectations anew.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::path::RelPath;

fn shown(parsed: &Parsed) -> String {
    let mut text = String::new();
    for definition in &parsed.definitions {
        let container = parsed
            .container(definition)
            .map(|name| format!("{name}."))
            .unwrap_or_default();
        let Lines { first, last } = definition.lines;
        let _ = writeln!(
            text,
            "{:<10} {container}{} {first}-{last} declared {} name {} signature {}",
            definition.kind.name(),
            definition.name,
            definition.declared,
            definition.name_line,
            definition.signature_last
        );
    }
    for import in &parsed.imports {
        let names: Vec<String> = import
            .names
            .iter()
            .map(|name| match &name.alias {
                Some(alias) => format!("{} as {alias}", name.name),
                None => name.name.to_string(),
            })
            .collect();
        let _ = writeln!(text, "import {}: {} [{}]", import.line, import.path, names.join(", "));
    }
    for reference in &parsed.references {
        let qualifier = reference
            .qualifier
            .as_ref()
            .map(|name| format!("{name}."))
            .unwrap_or_default();
        let inside = reference
            .inside
            .map_or("-", |index| &parsed.definitions[index as usize].name);
        let kind = format!("{:?}", reference.kind).to_lowercase();
        let _ = writeln!(
            text,
            "{kind} {}: {qualifier}{} in {inside}",
            reference.line, reference.name
        );
    }
    if parsed.broken {
        text.push_str("broken\n");
    }
    text
}

#[test]
fn samples_are_what_they_were() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/syntax/samples");
    let bless = std::env::var_os("MUNINN_BLESS").is_some();
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = RelPath::new(path.file_name().unwrap().to_str().unwrap()).unwrap();
        let Some(language) = Language::of_path(&name) else {
            continue;
        };
        seen.push(language);
        let source = std::fs::read_to_string(&path).unwrap();
        let parsed = parse(language, &source, &ParseLimits::default()).unwrap();
        let golden = folder.join(format!("{name}.txt"));
        if bless {
            std::fs::write(&golden, shown(&parsed)).unwrap();
        }
        assert_eq!(shown(&parsed), std::fs::read_to_string(&golden).unwrap(), "{name}");
    }
    seen.sort_unstable();
    assert_eq!(seen, Language::ALL, "every language has a sample");
}
