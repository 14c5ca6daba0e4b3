//! Questions before the index is ready.

use super::{Repo, ask, files, limits};
use crate::item::Completeness;
use crate::value::Prices;
use crate::{ItemKind, PriorContext};

/// A repository with the question's common words in every file, and its rare name in the last one.
fn crowded() -> Repo {
    let repo = Repo::with(&[(
        "src/zz/last.rs",
        "/// Settles.\npub fn settle_invoice_batch(batch: &Batch) -> u32 {\n    batch.total()\n}\n",
    )]);
    let line = "    let request = handle(request, invoice);\n";
    for number in 0..200 {
        repo.write(&format!("src/a/part_{number:03}.rs"), format!("fn part_{number}() {{\n{}}}\n", line.repeat(40)));
    }
    repo
}

#[test]
fn rare_name_is_found_past_common_words() {
    let found = ask(&crowded().engine(), "How does settle_invoice_batch handle a request?");
    assert_eq!(found.completeness, Completeness::Partial);
    assert_eq!(files(&found).first(), Some(&"src/zz/last.rs"), "{:?}", found.reason);
    assert!(found.reason.is_some_and(|reason| reason.contains("index is not ready")));
}

#[test]
fn client_with_file_tools_gets_a_map_before_the_index_is_ready() {
    let repo = crowded();
    let found = repo.engine().explore_after(
        &PriorContext::default(),
        "How does settle_invoice_batch handle a request?",
        &limits(2_000),
        Some(&Prices::default()),
    );
    assert_eq!(found.completeness, Completeness::Partial);
    let best = found.items.first().unwrap_or_else(|| panic!("{:?}", found.reason));
    assert_eq!((best.kind, &*best.source), (ItemKind::Place, "src/zz/last.rs:1-4"));
    assert_eq!(best.text, "pub fn settle_invoice_batch(batch: &Batch) -> u32 {");
}

#[test]
fn definition_in_a_large_file_is_found() {
    let repo = crowded();
    let filler: String = (0..8_000).map(|number| format!("pub fn value_{number}() -> u32 {{ {number} }}\n")).collect();
    let definition = "/// Settles.\npub fn settle_ledger_month() -> u32 {\n    1\n}\n";
    repo.write("src/large.rs", format!("{filler}{definition}{filler}"));
    let found = ask(&repo.engine(), "What does settle_ledger_month return?");
    let item = found.items.first().map(|item| (item.source.as_str(), item.text.as_str()));
    let (source, text) = item.unwrap_or_else(|| panic!("{:?}", found.reason));
    assert!(source.starts_with("src/large.rs:"), "{source}");
    assert!(text.contains("pub fn settle_ledger_month"), "{text}");
}
