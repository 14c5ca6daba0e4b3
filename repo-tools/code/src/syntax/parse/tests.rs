//! Golden tests over the samples, and hostile inputs.
//!
//! `MUNINN_BLESS=1 cargo test -p muninn-repo-tools syntax` rewrites the golden files.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use muninn_base::RelPath;

use super::*;
use crate::syntax::{Lines, ReferenceKind};

fn shown(parsed: &Parsed) -> String {
    let mut text = String::new();
    for definition in &parsed.definitions {
        let container = parsed.container(definition).map(|name| format!("{name}.")).unwrap_or_default();
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
        let qualifier = reference.qualifier.as_ref().map(|name| format!("{name}.")).unwrap_or_default();
        let inside = reference.inside.map_or("-", |index| &parsed.definitions[index as usize].name);
        let kind = format!("{:?}", reference.kind).to_lowercase();
        let _ = writeln!(text, "{kind} {}: {qualifier}{} in {inside}", reference.line, reference.name);
    }
    if parsed.broken {
        text.push_str("broken\n");
    }
    text
}

#[test]
fn samples_equal_their_golden_files() {
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
    assert_eq!(seen, Language::ALL, "every language must have a sample");
}

#[test]
fn hostile_inputs_neither_stall_nor_overflow_the_stack() {
    let deep = |open: &str, close: &str, n: usize| format!("{}x{}", open.repeat(n), close.repeat(n));
    let limits = ParseLimits::default();
    for language in Language::ALL {
        for source in [
            deep("(", ")", 100_000),
            deep("{", "}", 100_000),
            deep("[\n", "]\n", 50_000),
            "a(".repeat(50_000),
            "\u{0}\u{fffd}\"'`{[(<".repeat(1_000),
            "fn f() { class A { def g(".repeat(2_000),
            String::new(),
        ] {
            let start = Instant::now();
            // Every result is accepted, because only the time matters. Without the time limit, some of these inputs
            // take minutes.
            parse(language, &source, &limits).ok();
            assert!(start.elapsed() < Duration::from_secs(60), "{language}");
        }
    }
}

#[test]
fn limits_hold_and_are_reported() {
    let parse = |source: &str, limits| parse(Language::Rust, source, &limits);
    let many = "fn f() {}\n".repeat(1_000);
    let small = ParseLimits { max_bytes: 100, ..ParseLimits::default() };
    assert_eq!(parse(&many, small).unwrap_err(), ParseError::TooLarge);
    let late = ParseLimits { max_time: Duration::ZERO, ..ParseLimits::default() };
    assert_eq!(parse(&many, late).unwrap_err(), ParseError::Slow);
    let few = ParseLimits { max_items: 10, ..ParseLimits::default() };
    let found = parse(&many, few).unwrap();
    assert!(found.cut && found.definitions.len() <= 11);
    let minified = format!("fn f() {{}}\n{}", "let a=1;".repeat(2_000));
    assert_eq!(parse(&minified, ParseLimits::default()).unwrap_err(), ParseError::Minified);
    // A parse after an aborted one starts from the beginning.
    let found = parse("fn after() {}\n", ParseLimits::default()).unwrap();
    assert_eq!((&*found.definitions[0].name, found.broken), ("after", false));
}

#[test]
fn definitions_around_syntax_errors_are_extracted() {
    let source = "fn one() { two( }\n\nstruct {{{ \n\n/// Fine.\nfn three() { four(); }\n";
    let found = parse(Language::Rust, source, &ParseLimits::default()).unwrap();
    assert!(found.broken);
    assert!(
        found.definitions.iter().any(|of| &*of.name == "three" && of.lines == Lines { first: 5, last: 6 }),
        "{found:?}"
    );
    assert!(found.references.iter().any(|of| &*of.name == "four"));
}

#[test]
fn only_the_references_of_one_name_are_kept() {
    let source = "fn a() { b(); let f = b; }\nfn b() {}\n// b\n";
    let limits = ParseLimits { identifiers: true, only: Some("b"), ..ParseLimits::default() };
    let found = parse(Language::Rust, source, &limits).unwrap();
    let lines: Vec<_> = found.references.iter().map(|of| (of.line, of.kind)).collect();
    assert_eq!(lines, [(1, ReferenceKind::Call)], "a name must occur once per line, with its most relevant use");
}
