//! Code questions over a small repository of several languages.

use muninn_repo_tools::Worktree;
use muninn_repo_tools::fixture::Fixture;

use super::*;
use crate::syntax::{DefinitionKind, ParseLimits};
use crate::{
    Basis, NameMatch, OutlineError, ScoredDefinition, Symbol, SymbolQuery, UsageKind, callers, definition, outline,
    references, symbols,
};

fn repository() -> (Fixture, Worktree) {
    let repo = Fixture::with(&[
        (
            "src/bucket.rs",
            "/// A bucket.\npub struct Bucket;\n\nimpl Bucket {\n    /// Refills.\n    pub fn refill(&mut self, by: u32) {\n        self.check(by);\n    }\n\n    fn check(&self, _by: u32) {}\n}\n",
        ),
        (
            "src/main.rs",
            "use crate::bucket::Bucket;\n\nfn main() {\n    // refill it\n    let mut bucket = Bucket;\n    bucket.refill(1);\n    helper();\n}\n\nfn helper() {}\n",
        ),
        ("src/other.rs", "fn helper() {}\nfn run() { helper(); let f = helper; }\n"),
        ("tests/bucket.rs", "#[test]\nfn refill() { Bucket.refill(2); }\n"),
        ("web/bucket.ts", "export class Bucket { refill() {} }\nnew Bucket().refill();\n"),
        ("notes.md", "Call refill twice.\n"),
        (".env", "refill=1\n"),
        (".gitignore", "out/\n"),
        ("out/gen.rs", "fn refill() {}\n"),
    ]);
    let worktree = repo.worktree();
    (repo, worktree)
}

#[test]
fn an_outline_shows_depth_and_signature() {
    let (_repo, worktree) = repository();
    let path = RelPath::new("src/bucket.rs").unwrap();
    let outline = outline(&worktree, &path, &ParseLimits::default()).unwrap();
    let shown: Vec<String> = outline
        .entries
        .iter()
        .map(|entry| {
            let symbol = &entry.symbol;
            format!("{} {}-{} {}", entry.depth, symbol.lines.first, symbol.lines.last, symbol.signature)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "0 1-2 pub struct Bucket;",
            "0 4-11 impl Bucket",
            "1 5-8 pub fn refill(&mut self, by: u32)",
            "1 10-10 fn check(&self, _by: u32) {}"
        ]
    );
    let fails = |path: &str| super::super::outline(&worktree, &RelPath::new(path).unwrap(), &ParseLimits::default());
    assert!(matches!(fails("notes.md"), Err(OutlineError::Language { .. })));
    assert!(matches!(fails("gone.rs"), Err(OutlineError::Read(_))));
    assert!(matches!(fails(".env"), Err(OutlineError::Read(_))));
}

#[test]
fn symbols_by_name_and_kind() {
    let (_repo, worktree) = repository();
    let ask = |name: NameMatch, kinds: &[DefinitionKind], max_results| {
        let query = SymbolQuery {
            name,
            kinds: kinds.to_vec(),
            candidates: Candidates::Grep,
            filter: FileFilter::default(),
            limits: CodeLimits { max_results, ..CodeLimits::default() },
        };
        let found = symbols(&worktree, &query).unwrap();
        let shown: Vec<String> =
            found.symbols.iter().map(|symbol| format!("{}:{}", symbol.path, symbol.line)).collect();
        (shown, found.cuts.has(muninn_repo_tools::Cut::Matches))
    };
    let exact = NameMatch::Exact("refill".to_owned());
    assert_eq!(
        ask(exact.clone(), &[], 9),
        (vec!["src/bucket.rs:6".into(), "tests/bucket.rs:2".into(), "web/bucket.ts:1".into()], false)
    );
    assert_eq!(ask(exact.clone(), &[DefinitionKind::Function], 9), (vec!["tests/bucket.rs:2".into()], false));
    assert_eq!(ask(exact, &[], 1), (vec!["src/bucket.rs:6".into()], true));
    let part = ask(NameMatch::Part("BUCK".to_owned()), &[DefinitionKind::Class, DefinitionKind::Struct], 9);
    assert_eq!(part.0, ["src/bucket.rs:2", "web/bucket.ts:1"]);
}

#[test]
fn definitions_are_ranked_by_confidence() {
    let (_repo, worktree) = repository();
    let ask = |name: &str, from: Option<&str>| -> Vec<(String, Basis)> {
        let query = NameQuery { from: from.map(|path| RelPath::new(path).unwrap()), ..NameQuery::new(name) };
        let found = definition(&worktree, &query).unwrap();
        assert!(found.definitions.is_sorted_by(|a, b| a.confidence >= b.confidence));
        let shown = |of: &ScoredDefinition| (format!("{}:{}", of.symbol.path, of.symbol.line), of.basis);
        found.definitions.iter().map(shown).collect()
    };
    assert_eq!(ask("check", None), [("src/bucket.rs:10".to_owned(), Basis::Unique)]);
    assert_eq!(ask("Bucket", Some("src/main.rs"))[0], ("src/bucket.rs:2".to_owned(), Basis::Imported));
    assert_eq!(ask("Bucket", Some("web/bucket.ts"))[0], ("web/bucket.ts:1".to_owned(), Basis::SameFile));
    assert_eq!(ask("helper", Some("src/other.rs"))[0], ("src/other.rs:1".to_owned(), Basis::SameFile));
    assert_eq!(ask("Bucket::refill", None)[0].1, Basis::Qualified);
    assert_eq!(ask("refill", None).last().unwrap().0, "tests/bucket.rs:2", "a definition in a test file is last");
    assert!(ask("no_such_name", None).is_empty());
    assert!(matches!(definition(&worktree, &NameQuery::new("two words")), Err(CodeError::Name { .. })));
}

#[test]
fn references_and_callers_have_confidence_and_basis() {
    let (_repo, worktree) = repository();
    let found = references(&worktree, &NameQuery::new("helper")).unwrap();
    let shown: Vec<_> = found
        .references
        .iter()
        .map(|usage| (format!("{}:{}", usage.path, usage.line), usage.kind, usage.inside.as_deref(), usage.basis))
        .collect();
    assert_eq!(
        shown,
        [
            ("src/main.rs:7".to_owned(), UsageKind::Call, Some("main"), Basis::SameFile),
            ("src/other.rs:2".to_owned(), UsageKind::Call, Some("run"), Basis::SameFile),
        ]
    );
    assert_eq!(found.definitions, 2);
    let found = references(&worktree, &NameQuery::new("Bucket::refill")).unwrap();
    let of = |path: &str, line| {
        found.references.iter().find(|usage| usage.path.as_str() == path && usage.line == line).unwrap()
    };
    assert_eq!(of("notes.md", 1).kind, UsageKind::Text);
    assert_eq!(of("src/main.rs", 4).kind, UsageKind::Text, "a comment");
    let call = of("src/main.rs", 6);
    assert_eq!((call.kind, call.basis), (UsageKind::Call, Basis::Imported));
    assert!(call.confidence > of("src/main.rs", 4).confidence);
    assert!(!found.references.iter().any(|usage| usage.path.as_str() == ".env"));
    let calling = callers(&worktree, &NameQuery::new("refill")).unwrap();
    let names: Vec<_> = calling
        .callers
        .iter()
        .map(|caller| (caller.symbol.as_ref().map(Symbol::qualified), caller.calls.clone()))
        .collect();
    assert!(names.contains(&(Some("main".to_owned()), vec![6])), "{names:?}");
    assert!(names.contains(&(None, vec![2])), "{names:?}");
    assert!(calling.callers.is_sorted_by(|a, b| a.confidence >= b.confidence));
}

#[test]
fn only_the_candidate_paths_are_parsed() {
    let (_repo, worktree) = repository();
    let paths = [RelPath::new("src/other.rs").unwrap()];
    let query = NameQuery { candidates: Candidates::Paths(&paths), ..NameQuery::new("helper") };
    let found = definition(&worktree, &query).unwrap();
    assert_eq!((found.definitions.len(), found.parsed), (1, 1));
    assert_eq!(found.definitions[0].basis, Basis::Unique);
}
