//! What every store has to do, as cases against the trait. An implementation says how it is opened ([`TestStores`]) and
//! names itself once: `conformance::suite!(OwnSubject)`.

mod counting;
mod ledger;
mod receipts;

use std::sync::Arc;

use super::{NewEntry, Store, TurnKey};

pub(super) use counting::*;
pub(super) use ledger::*;
pub(super) use receipts::*;

/// One state that stores can be opened on.
pub(super) trait TestStores: Default {
    /// Opens a store. Several may be open on one state at once, as those of several processes are.
    fn open(&self) -> Arc<dyn Store>;
}

/// A test for each case.
macro_rules! suite {
    ($subject:ty) => {
        $crate::store::conformance::suite!(
            $subject:
            the_first_row_holds_and_sessions_have_their_own,
            rows_are_told_by_key_and_oldest_first,
            many_that_record_at_once_agree_on_one_row,
            two_stores_on_one_state_agree_on_one_row,
            a_row_keeps_what_was_before_it,
            earlier_turns_without_a_row_get_one,
            a_turn_that_went_without_is_known_at_once_and_for_good,
            a_turn_that_went_without_leaves_a_block_in_its_place,
            how_a_conversation_went_on_is_told_with_its_row,
            a_session_adopts_a_row_of_another,
            what_is_asked_once_is_carried_out_though_nobody_waits,
            receipts_are_listed_newest_first,
            a_receipt_is_found_by_its_whole_id,
            receipts_are_named_by_a_part_of_their_ids,
            a_receipt_that_is_kept_again_replaces_itself,
            usage_adds_up_by_key_and_day,
            what_was_noted_before_a_flush_outlives_the_store,
            counts_tell_turns_blocks_and_receipts,
            a_sound_store_says_so,
            a_key_is_counted_within_a_minute,
            a_circuit_opens_lets_one_probe_pass_and_closes,
            a_circuit_that_nobody_asked_for_or_that_is_gone_is_closed,
        );
    };
    ($subject:ty: $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                let subject = <$subject>::default();
                muninn_memory::model::block_on($crate::store::conformance::$case(&subject));
            }
        )+
    };
}
pub(super) use suite;

/// A row that was made `later_ms` after the start of the test run: rows must not be so old that they are cleaned up.
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

/// The blocks under a key.
async fn blocks(store: &dyn Store, key: TurnKey) -> Vec<Option<String>> {
    let rows = store.entries(&[key]).await.unwrap().remove(0);
    rows.into_iter().map(|row| row.block).collect()
}
