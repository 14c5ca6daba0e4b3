//! The injection ledger.

use std::future::Future;
use std::task::{Context, Waker};

use futures_util::future::join_all;

use super::{TestStores, blocks, key, row};
use crate::{Entry, NewEntry, Store, Use};

async fn recorded(store: &dyn Store, number: u8, session: Option<&str>, block: &str, later_ms: i64) -> Entry {
    let entry = row(session, Some(block), later_ms);
    store.record(key(number), entry).await.unwrap()
}

pub(crate) async fn first_row_of_each_session_wins(subject: &impl TestStores) {
    let store = subject.open();
    let record = async |session: Option<&'static str>, block, later_ms| {
        recorded(&*store, 1, session, block, later_ms).await.block.unwrap()
    };
    assert_eq!(record(Some("a"), "one", 1).await, "one");
    assert_eq!(record(Some("a"), "two", 2).await, "one");
    assert_eq!(record(Some("b"), "three", 3).await, "three");
    // Rows of unnamed sessions count as one conversation for ten minutes.
    assert_eq!(record(None, "four", 4).await, "four");
    assert_eq!(record(None, "five", 600_004).await, "four");
    assert_eq!(record(None, "six", 600_005).await, "six");
    assert_eq!(blocks(&*store, key(1)).await.len(), 4);
}

pub(crate) async fn rows_are_grouped_by_key_oldest_first(subject: &impl TestStores) {
    let store = subject.open();
    assert_eq!(store.entries(&[]).await.unwrap(), Vec::<Vec<Entry>>::new());
    let mut expected = Vec::new();
    for (number, session) in [(1, "b"), (2, "b"), (1, "a"), (1, "c")] {
        expected.push(recorded(&*store, number, Some(session), session, 1).await);
    }
    let found = store.entries(&[key(2), key(3), key(1)]).await.unwrap();
    let [first, second, third, fourth] = expected.try_into().unwrap();
    assert_eq!(found, [vec![second], vec![], vec![first, third, fourth]]);
}

pub(crate) async fn concurrent_records_agree_on_one_row(subject: &impl TestStores) {
    let store = subject.open();
    let names: Vec<String> = (0..50).map(|number| format!("block {number}")).collect();
    let all = join_all(names.iter().map(|name| recorded(&*store, 1, Some("s"), name, 1))).await;
    assert!(all.iter().all(|entry| *entry == all[0]), "{all:?}");
    assert_eq!(blocks(&*store, key(1)).await.len(), 1);
}

pub(crate) async fn two_stores_on_one_directory_agree_on_one_row(subject: &impl TestStores) {
    let (one, other) = (subject.open(), subject.open());
    let (first, second) =
        futures_util::join!(recorded(&*one, 1, Some("s"), "one", 1), recorded(&*other, 1, Some("s"), "other", 1));
    assert_eq!(first.block, second.block);
    for store in [&one, &other] {
        assert_eq!(store.entries(&[key(1)]).await.unwrap(), [[first.clone()]]);
    }
}

pub(crate) async fn row_keeps_the_ids_of_rows_before_it(subject: &impl TestStores) {
    let store = subject.open();
    let first = recorded(&*store, 1, Some("s"), "one", 1).await;
    let second = recorded(&*store, 2, Some("s"), "two", 2).await;
    let third = NewEntry { before: vec![Use::of(first.id), Use::of(second.id)], ..row(Some("s"), Some("three"), 3) };
    assert_eq!(store.record(key(3), third).await.unwrap().before, [first.id, second.id]);
    drop(store);
    let kept = subject.open().entries(&[key(3)]).await.unwrap();
    assert_eq!(kept[0][0].before, [first.id, second.id]);
    assert_eq!((kept[0][0].session.as_deref(), kept[0][0].tokens), (Some("s"), 1));
}

pub(crate) async fn absent_earlier_turns_get_a_row(subject: &impl TestStores) {
    let store = subject.open();
    let first = recorded(&*store, 1, Some("s"), "one", 1).await;
    let third =
        NewEntry { absent: vec![(key(2), vec![first.id]), (key(1), Vec::new())], ..row(Some("s"), Some("three"), 3) };
    store.record(key(3), third).await.unwrap();
    let found = store.entries(&[key(1), key(2)]).await.unwrap();
    assert_eq!(found[0], std::slice::from_ref(&first), "the existing row is kept");
    assert_eq!((found[1].len(), &found[1][0].block), (1, &None));
    assert_eq!(found[1][0].before, [first.id]);
    let sixth = NewEntry { absent: vec![(key(5), vec![first.id]), (key(1), Vec::new())], ..row(Some("s"), None, 6) };
    store.record_without_block(key(6), sixth).await;
    // First from the journal, then from the database.
    for _ in 0..2 {
        let found = store.entries(&[key(1), key(5)]).await.unwrap();
        assert_eq!(found[0], std::slice::from_ref(&first));
        assert_eq!((found[1].len(), &found[1][0].block), (1, &None));
        assert_eq!(found[1][0].before, [first.id]);
        store.flush().await;
    }
}

pub(crate) async fn turn_without_block_is_found_at_once_and_after_reopening(subject: &impl TestStores) {
    let store = subject.open();
    store.record_without_block(key(1), row(Some("s"), None, 1)).await;
    assert_eq!(blocks(&*store, key(1)).await, [None]);
    store.flush().await;
    assert_eq!(blocks(&*store, key(1)).await, [None]);
    assert_eq!(blocks(&*subject.open(), key(1)).await, [None]);
    let late = recorded(&*store, 1, Some("s"), "late", 2).await;
    assert_eq!(late.block, None, "a turn without a block stays without one");
}

pub(crate) async fn turn_without_block_does_not_replace_a_block(subject: &impl TestStores) {
    let store = subject.open();
    recorded(&*store, 1, Some("s"), "one", 1).await;
    store.record_without_block(key(1), row(Some("s"), None, 2)).await;
    store.flush().await;
    assert_eq!(blocks(&*store, key(1)).await, [Some("one".to_owned())]);
}

pub(crate) async fn continuations_are_returned_with_their_row(subject: &impl TestStores) {
    let store = subject.open();
    let entry = recorded(&*store, 1, None, "one", 1).await;
    for continuation in [key(8), key(9), key(8)] {
        store.note_uses(vec![Use { key: Some(key(1)), continuation: Some(continuation), ..Use::of(entry.id) }]);
    }
    for _ in 0..2 {
        let mut continuations = store.entries(&[key(1)]).await.unwrap()[0][0].continuations.clone();
        continuations.sort();
        assert_eq!(continuations, [key(8), key(9)]);
        store.flush().await;
    }
}

pub(crate) async fn session_adopts_a_row_of_another_session(subject: &impl TestStores) {
    let store = subject.open();
    let entry = recorded(&*store, 1, Some("a"), "one", 1).await;
    for _ in 0..2 {
        let session = Some("b".to_owned());
        store.note_uses(vec![Use { key: Some(key(1)), adopted_by: session, ..Use::of(entry.id) }]);
    }
    for _ in 0..2 {
        let rows = store.entries(&[key(1)]).await.unwrap().remove(0);
        let sessions: Vec<_> = rows.iter().map(|row| (row.session.as_deref(), row.block.as_deref())).collect();
        assert_eq!(sessions, [(Some("a"), Some("one")), (Some("b"), Some("one"))]);
        store.flush().await;
    }
}

pub(crate) async fn dropped_futures_complete_after_one_poll(subject: &impl TestStores) {
    let store = subject.open();
    let mut context = Context::from_waker(Waker::noop());
    let mut left = Box::pin(store.record(key(1), row(Some("s"), Some("one"), 1)));
    let _pending = left.as_mut().poll(&mut context);
    drop(left);
    let mut left = Box::pin(store.record_without_block(key(2), row(Some("s"), None, 1)));
    let _pending = left.as_mut().poll(&mut context);
    drop(left);
    let retried = recorded(&*store, 1, Some("s"), "two", 2).await;
    assert_eq!(retried.block.as_deref(), Some("one"));
    assert_eq!(blocks(&*store, key(2)).await, [None]);
}
