//! Two stores on one state directory lose no records or notes.

use std::sync::{Arc, Barrier};

use muninn_text::model::block_on;

use super::tests::limits;
use super::{NewEntry, Receipt, SqliteStore, Store, TurnKey, UsageSum, Use};

const STORES: u8 = 2;
const THREADS: u8 = 8;
const ROUNDS: u8 = 72;
/// Usual size of a block in bytes.
const BLOCK: usize = 8_000;

fn receipt(id: &str) -> Receipt {
    Receipt::of(id.to_owned(), std::path::Path::new("/w"), "why?")
}

fn key(store: u8, thread: u8, round: u8) -> TurnKey {
    let mut bytes = [0; 32];
    bytes[..3].copy_from_slice(&[store, thread, round]);
    TurnKey::from_bytes(bytes)
}

#[test]
fn two_stores_on_one_directory_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let start = Arc::new(Barrier::new(usize::from(STORES) * usize::from(THREADS)));
    let day: jiff::civil::Date = "2026-01-01".parse().unwrap();
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let stores: Vec<_> = (0..STORES).map(|_| Arc::new(SqliteStore::open(folder.path(), &limits()).unwrap())).collect();
    let threads: Vec<_> = (0..STORES)
        .flat_map(|store| (0..THREADS).map(move |thread| (store, thread)))
        .map(|(number, thread)| {
            let (store, start) = (Arc::clone(&stores[usize::from(number)]), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                let mut failed = Vec::new();
                for round in 0..ROUNDS {
                    let id = format!("{number}-{thread}-{round}");
                    let entry = NewEntry {
                        session: Some(id.clone()),
                        block: Some("b".repeat(BLOCK)),
                        tokens: 1,
                        now_ms,
                        ..NewEntry::default()
                    };
                    match block_on(store.record(key(number, thread, round), entry)) {
                        Ok(entry) => store.note_uses(vec![Use::of(entry.id)]),
                        Err(error) => failed.push(error.to_string()),
                    }
                    store.note_receipt(receipt(&id));
                    store.note_usage("ana", day, UsageSum { requests: 1, ..UsageSum::default() });
                }
                failed
            })
        })
        .collect();
    let failed: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    stores.iter().for_each(|store| block_on(store.flush()));
    drop(stores);

    let expected = i64::from(STORES) * i64::from(THREADS) * i64::from(ROUNDS);
    let store = SqliteStore::open(folder.path(), &limits()).unwrap();
    let counts = block_on(store.counts()).unwrap();
    let used = block_on(store.usage(day)).unwrap()[0].all.requests;
    assert_eq!(
        (failed.len(), counts.blocks, counts.receipts, used),
        (0, expected, expected, u64::try_from(expected).unwrap()),
        "failed, blocks, receipts, requests counted; {failed:?}"
    );
}
