//! Conformance tests for implementations of [`Store`]. An implementation provides [`TestStores`] and calls
//! `conformance::suite!(OwnSubject)` once.

mod counting;
mod ledger;
mod receipts;

use std::sync::Arc;

use super::{NewEntry, Store, TurnKey};

pub(super) use counting::*;
pub(super) use ledger::*;
pub(super) use receipts::*;

/// One state directory on which stores are opened.
pub(super) trait TestStores: Default {
    /// Opens a store. Several may be open at once, like those of several processes.
    fn open(&self) -> Arc<dyn Store>;
}

/// Generates one test for each case.
macro_rules! suite {
    ($subject:ty) => {
        $crate::conformance::suite!(
            $subject:
            first_row_of_each_session_wins,
            rows_are_grouped_by_key_oldest_first,
            concurrent_records_agree_on_one_row,
            two_stores_on_one_directory_agree_on_one_row,
            row_keeps_the_ids_of_rows_before_it,
            absent_earlier_turns_get_a_row,
            turn_without_block_is_found_at_once_and_after_reopening,
            turn_without_block_does_not_replace_a_block,
            continuations_are_returned_with_their_row,
            session_adopts_a_row_of_another_session,
            dropped_futures_complete_after_one_poll,
            receipts_are_listed_newest_first,
            receipts_of_a_conversation_are_those_with_its_name,
            receipt_is_found_by_its_whole_id_only,
            receipt_ids_are_found_by_a_part,
            second_receipt_with_an_id_replaces_the_first,
            measured_receipts_are_those_of_a_worktree_with_an_effect,
            usage_adds_up_by_key_and_day,
            flushed_notes_survive_reopening,
            counts_cover_turns_blocks_and_receipts,
            undamaged_store_reports_ok,
            uses_of_a_key_are_counted_within_a_minute,
            circuit_opens_admits_one_probe_and_closes,
            unknown_and_forgotten_circuits_are_closed,
        );
    };
    ($subject:ty: $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                let subject = <$subject>::default();
                muninn_text::model::block_on($crate::conformance::$case(&subject));
            }
        )+
    };
}
pub(super) use suite;

/// A row created `later_ms` after the start of the test run. An older row would be deleted by retention.
pub(super) fn row(session: Option<&str>, block: Option<&str>, later_ms: i64) -> NewEntry {
    static START: std::sync::LazyLock<i64> = std::sync::LazyLock::new(|| jiff::Timestamp::now().as_millisecond());
    NewEntry {
        session: session.map(str::to_owned),
        block: block.map(str::to_owned),
        tokens: 1,
        now_ms: *START + later_ms,
        ..NewEntry::default()
    }
}

fn key(byte: u8) -> TurnKey {
    TurnKey::for_test(byte)
}

/// The blocks of a key's rows.
async fn blocks(store: &dyn Store, key: TurnKey) -> Vec<Option<String>> {
    let rows = store.entries(&[key]).await.unwrap().remove(0);
    rows.into_iter().map(|row| row.block).collect()
}
