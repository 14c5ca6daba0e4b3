//! Receipts, usage of keys, counts and health.

use std::path::Path;

use super::{TestStores, blocks, key, row};
use crate::{Effect, LedgerHealth, Receipt, ReceiptsOf, Store, StoreCounts, UsageSum};

fn receipt(id: &str) -> Receipt {
    Receipt::of(id.to_owned(), Path::new("/w"), "why?")
}

async fn with_receipts(subject: &impl TestStores, ids: &[&str]) -> std::sync::Arc<dyn Store> {
    let store = subject.open();
    for id in ids {
        store.note_receipt(receipt(id));
    }
    store.flush().await;
    store
}

pub(crate) async fn receipts_are_listed_newest_first(subject: &impl TestStores) {
    let store = with_receipts(subject, &["B2", "A1", "C3"]).await;
    let ids = |receipts: Vec<Receipt>| receipts.into_iter().map(|receipt| receipt.id).collect::<Vec<_>>();
    assert_eq!(ids(store.receipts(2).await.unwrap()), ["C3", "A1"]);
    assert_eq!(ids(store.receipts(usize::MAX).await.unwrap()), ["C3", "A1", "B2"]);
}

pub(crate) async fn receipt_is_found_by_its_whole_id_only(subject: &impl TestStores) {
    let store = with_receipts(subject, &["01ABC", "01ABCD"]).await;
    for (id, found) in [("01ABC", Some("01ABC")), ("01ABCD", Some("01ABCD")), ("01AB", None)] {
        let receipt = store.receipt(id).await.unwrap();
        assert_eq!(receipt.map(|receipt| receipt.id).as_deref(), found, "{id}");
    }
}

pub(crate) async fn receipt_ids_are_found_by_a_part(subject: &impl TestStores) {
    let store = with_receipts(subject, &["01ABC", "02ABD", "03XYZ"]).await;
    assert_eq!(store.receipt_ids("ab", 10).await.unwrap(), ["02ABD", "01ABC"]);
    assert_eq!(store.receipt_ids("ab", 1).await.unwrap(), ["02ABD"]);
    assert!(store.receipt_ids("%", 10).await.unwrap().is_empty());
}

pub(crate) async fn second_receipt_with_an_id_replaces_the_first(subject: &impl TestStores) {
    let store = with_receipts(subject, &["A1", "B2"]).await;
    store.note_receipt(Receipt { model: "qwen".to_owned(), ..receipt("A1") });
    store.flush().await;
    assert_eq!(store.receipt("A1").await.unwrap().unwrap().model, "qwen");
    assert_eq!(store.counts().await.unwrap().receipts, 2);
}

pub(crate) async fn receipts_of_a_conversation_are_those_with_its_name(subject: &impl TestStores) {
    let store = with_receipts(subject, &["A1"]).await;
    let name = "a \"näme\"\n";
    let named = |id: &str, session: Option<&str>, derived: Option<&str>| Receipt {
        session: session.map(str::to_owned),
        derived: derived.map(str::to_owned),
        ..receipt(id)
    };
    store.note_receipt(named("B2", Some(name), None));
    store.note_receipt(named("C3", None, Some(name)));
    store.note_receipt(named("D4", Some("other"), Some(name)));
    store.flush().await;
    let found = async |among| {
        let receipts = store.receipts_of(ReceiptsOf::conversation(name, among)).await.unwrap();
        receipts.into_iter().map(|receipt| receipt.id).collect::<Vec<_>>()
    };
    assert_eq!(found(9).await, ["C3", "B2"]);
    assert_eq!(found(2).await, ["C3"], "those before the newest are not looked at");
    store.note_receipt(named("E5", Some(name), None));
    store.note_receipt(Receipt { model: "qwen".to_owned(), ..named("B2", Some(name), None) });
    assert_eq!(found(9).await, ["E5", "C3", "B2"], "nothing was flushed");
    let receipts = store.receipts_of(ReceiptsOf::conversation(name, 9)).await.unwrap();
    assert_eq!(receipts.last().unwrap().model, "qwen", "the newest with an id counts");

    let about = |id: &str, words: &str| Receipt { first_words: words.to_owned(), ..named(id, Some("about"), None) };
    for (id, words) in [("F6", "How long"), ("G7", "How short"), ("H8", "")] {
        store.note_receipt(about(id, words));
    }
    for _ in 0..2 {
        let found = store
            .receipts_of(ReceiptsOf { about: Some("How long"), ..ReceiptsOf::conversation("about", 9) })
            .await
            .unwrap();
        assert_eq!(found.iter().map(|receipt| &*receipt.id).collect::<Vec<_>>(), ["H8", "F6"]);
        store.flush().await;
    }
}

pub(crate) async fn measured_receipts_are_those_of_a_worktree_with_an_effect(subject: &impl TestStores) {
    let store = with_receipts(subject, &["A1", "B2"]).await;
    let effect = Effect { exploring_calls: 2, places_used: 1, files_missed: 0, spared_calls: 1.8, gain: None };
    for (id, worktree) in [("C3", "/w"), ("D4", "/other \"effect\":{"), ("E5", "/w"), ("A1", "/w")] {
        store.note_receipt(Receipt { worktree: worktree.to_owned(), effect: Some(effect), ..receipt(id) });
    }
    store.flush().await;
    let ids = |receipts: Vec<Receipt>| receipts.into_iter().map(|receipt| receipt.id).collect::<Vec<_>>();
    assert_eq!(ids(store.measured("/w", 9).await.unwrap()), ["E5", "C3", "A1"]);
    assert_eq!(ids(store.measured("/w", 2).await.unwrap()), ["E5", "C3"]);
    assert_eq!(store.measured("/none", 9).await.unwrap().len(), 0);
}

pub(crate) async fn usage_adds_up_by_key_and_day(subject: &impl TestStores) {
    let store = subject.open();
    let sum = UsageSum { requests: 1, input: 10, output: 2, cached: 8 };
    let day = |text: &str| text.parse::<jiff::civil::Date>().unwrap();
    for written in ["2026-03-31", "2026-03-31", "2026-03-02", "2026-03-01", "2026-04-01"] {
        store.note_usage("ana", day(written), sum);
    }
    store.note_usage("", day("2026-03-30"), sum);
    store.flush().await;
    let usage = store.usage(day("2026-03-31")).await.unwrap();
    let requests: Vec<_> = usage
        .iter()
        .map(|usage| (usage.key.as_str(), usage.today.requests, usage.thirty_days.requests, usage.all.requests))
        .collect();
    assert_eq!(requests, [("", 0, 1, 1), ("ana", 2, 3, 5)]);
    assert_eq!((usage[1].today.input, usage[1].today.output, usage[1].today.cached), (20, 4, 16));
}

pub(crate) async fn flushed_notes_survive_reopening(subject: &impl TestStores) {
    let today = "2026-01-01".parse().unwrap();
    let store = subject.open();
    store.note_receipt(receipt("A1"));
    store.note_usage("ana", today, UsageSum::default());
    store.record_without_block(key(1), row(Some("s"), None, 1)).await;
    store.flush().await;
    drop(store);
    let store = subject.open();
    assert_eq!(store.receipts(9).await.unwrap().len(), 1);
    assert_eq!(store.usage(today).await.unwrap().len(), 1);
    assert_eq!(blocks(&*store, key(1)).await, [None]);
}

pub(crate) async fn counts_cover_turns_blocks_and_receipts(subject: &impl TestStores) {
    let store = with_receipts(subject, &["A1"]).await;
    store.record(key(1), row(Some("s"), Some("one"), 1)).await.unwrap();
    store.record_without_block(key(2), row(Some("s"), None, 1)).await;
    store.flush().await;
    let expected = StoreCounts { turns: 2, blocks: 1, receipts: 1 };
    assert_eq!(store.counts().await.unwrap(), expected);
}

pub(crate) async fn undamaged_store_reports_ok(subject: &impl TestStores) {
    assert_eq!(subject.open().health().await, LedgerHealth::Ok);
}
