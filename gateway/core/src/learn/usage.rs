//! What the receipts of a conversation tell about its turns, and what the agent then did: which items it used, and what the map
//! spared.

use std::time::Instant;

use muninn_base::RelPath;
use muninn_ledger::{Effect, Outcome, Receipt, ReceiptItem, Store, StoreError};
use muninn_session::ToolEffects;
use muninn_team::learn::ShownNote;
use muninn_text::model::block_on;

/// The receipts of a conversation, or of a turn of it, newest first. What other processes have written since `as_of` may be
/// missing.
///
/// # Errors
/// [`StoreError`] where receipts cannot be read.
pub(super) fn receipts_of(
    store: &dyn Store,
    name: &str,
    about: (Option<&str>, Instant),
) -> Result<Vec<Receipt>, StoreError> {
    block_on(crate::receipts::receipts_of(store, name, about))
}

/// The receipt of the block of a turn. `words` are the first words of its question, by [`Receipt::first_words_of`].
pub(super) fn injected<'r>(receipts: &'r [Receipt], words: &str) -> Option<&'r Receipt> {
    let mut of_turn = receipts.iter().filter(|receipt| receipt.first_words == words && !receipt.is_about_call());
    of_turn.find(|receipt| has_block(receipt))
}

/// The receipts of the notes about the calls of a turn, newest first.
fn about_calls<'r>(receipts: &'r [Receipt], words: &str) -> impl Iterator<Item = &'r Receipt> {
    let of_turn = receipts.iter().filter(move |receipt| receipt.first_words == words);
    of_turn.take_while(|receipt| receipt.is_about_call()).filter(|receipt| has_block(receipt))
}

fn has_block(receipt: &Receipt) -> bool {
    matches!(receipt.outcome, Outcome::Injected | Outcome::Partial)
}

/// The ids of the records that the blocks of a turn carry, in full or as a line, with the words that called for them.
pub(super) fn notes<'r>(receipts: &'r [Receipt], question: &str, words: &str) -> Vec<(&'r str, String)> {
    let of_question = injected(receipts, words).map(|receipt| (receipt, question.to_owned()));
    let of_calls = about_calls(receipts, words).map(|receipt| {
        let call = receipt.reason.as_deref().unwrap_or_default();
        (receipt, format!("{question}\n{call}"))
    });
    let notes = |(receipt, words): (&'r Receipt, String)| {
        let notes = receipt.items.iter().filter(|item| is_note(item));
        notes.map(move |item| (&*item.source, words.clone()))
    };
    of_question.into_iter().chain(of_calls).flat_map(notes).collect()
}

fn is_note(item: &ReceiptItem) -> bool {
    matches!(&*item.kind, "memory" | "hint") && !item.source.contains(':')
}

/// The receipts of the blocks of a turn that has effects, with these effects. While the turn's answer is unknown (`is_open`), it
/// may still cite a file, so items that are unused so far stay unmarked.
pub(super) fn marked(
    receipts: &[Receipt],
    words: &str,
    (effects, notes): (&ToolEffects, &[ShownNote]),
    is_open: bool,
) -> Vec<Receipt> {
    let with_effects = |receipt: &Receipt| {
        let mut receipt = receipt.clone();
        mark(&mut receipt, effects, is_open);
        receipt
    };
    let of_question = injected(receipts, words).map(with_effects);
    let mut of_turn: Vec<Receipt> = of_question.into_iter().chain(about_calls(receipts, words).cloned()).collect();
    for item in of_turn.iter_mut().flat_map(|receipt| &mut receipt.items).filter(|item| is_note(item)) {
        item.used = notes.iter().find(|note| note.id == item.source).map(|note| note.used).or(item.used);
    }
    let is_marked = |receipt: &Receipt| receipt.effect.is_some() || receipt.items.iter().any(|it| it.used.is_some());
    of_turn.retain(is_marked);
    of_turn
}

/// Whether a turn carried texts of personal memory: its block, or, for the first turn, the text at the start of the session.
pub(super) fn is_personal(receipts: &[Receipt], words: &str, is_first: bool) -> bool {
    let of_turn = |receipt: &&Receipt| {
        let is_start = is_first && receipt.first_words.is_empty();
        receipt.first_words == words || is_start
    };
    let carries = |receipt: &Receipt| {
        let mut items = receipt.items.iter().map(|item| &item.kind);
        let mut parts = receipt.preamble.iter().map(|part| &part.part);
        items.any(|kind| kind == ReceiptItem::PERSONAL) || parts.any(|part| part == ReceiptItem::PERSONAL)
    };
    receipts.iter().filter(of_turn).any(carries)
}

fn mark(receipt: &mut Receipt, effects: &ToolEffects, is_open: bool) {
    let was_used = |path: &RelPath| {
        let mut worked_with = effects.edited.iter().chain(&effects.cited).chain(&effects.read);
        worked_with.any(|other| other == path)
    };
    for item in &mut receipt.items {
        let Some(path) = file(item) else { continue };
        let used = was_used(&path);
        if used || !is_open {
            item.used = Some(used);
            item.edited = Some(effects.edited.contains(&path));
        }
    }
    // Without a call and an answer, nothing is known.
    if !is_open || effects.exploring_calls > 0 || !effects.reached.is_empty() {
        receipt.effect = effect(receipt, effects).or(receipt.effect);
    }
}

/// The effect of a map; `None` for a pack without places.
fn effect(receipt: &Receipt, effects: &ToolEffects) -> Option<Effect> {
    let items = receipt.items.iter();
    let places: Vec<RelPath> = items.filter(|item| item.kind == "place").filter_map(file).collect();
    if places.is_empty() {
        return None;
    }
    let packed: Vec<RelPath> = receipt.items.iter().filter_map(file).collect();
    let is_used = |path: &&RelPath| effects.cited.contains(path) || effects.reached.iter().any(|it| it.path == **path);
    let mut reached = effects.reached.iter();
    let first_reached = reached.clone().find(|reached| places.contains(&reached.path));
    let first_edit = reached.find(|reached| reached.edited);
    // The answer follows all calls of the turn. A place that only the answer cites was used after them.
    let is_cited = effects.cited.iter().any(|path| places.contains(path));
    let in_answer = is_cited.then_some(effects.exploring_calls);
    let first_use = first_reached.map(|reached| reached.exploring_calls).or(in_answer);
    let before = [first_use, first_edit.map(|reached| reached.exploring_calls)];
    let before = before.into_iter().flatten().min();
    let effect = Effect {
        exploring_calls: before.unwrap_or(effects.exploring_calls),
        places_used: count(places.iter().filter(is_used)),
        files_missed: count(effects.edited.iter().filter(|path| !packed.contains(path))),
        spared_calls: 0.0,
        gain: None,
    };
    Some(effect.with_gain(first_use, receipt.estimate.as_ref()))
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

/// The file of an item; `None` for a record.
fn file(item: &ReceiptItem) -> Option<RelPath> {
    let path = match item.source.rsplit_once(':') {
        Some((path, _lines)) => path,
        None => Some(&*item.source).filter(|_| item.kind == "place")?,
    };
    RelPath::new(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_ledger::Estimate;
    use muninn_session::ReachedFile;

    /// A pack of places and other items, at a price of 500 and 1000 for each call.
    fn pack(items: &[(&str, &str)]) -> Receipt {
        let item = |(kind, source): &(&str, &str)| {
            let item = format!(r#"{{"kind":"{kind}","source":"{source}","tokens":20,"score":1.0,"why":""}}"#);
            serde_json::from_str(&item).unwrap()
        };
        Receipt {
            items: items.iter().map(item).collect(),
            estimate: Some(Estimate { price: 500.0, gain: Some(9_000.0), call: Some(1_000.0) }),
            ..Receipt::of("01".to_owned(), "/w".as_ref(), "q")
        }
    }

    /// The effects of a turn that reached these files: path, whether it was edited, exploring calls before.
    fn turn(files: &[(&str, bool, u32)], exploring_calls: u32) -> ToolEffects {
        let path = |path: &str| RelPath::new(path).unwrap();
        let used = |edit: bool| files.iter().filter(move |file| file.1 == edit).map(|file| path(file.0));
        ToolEffects {
            edited: used(true).collect(),
            read: used(false).collect(),
            exploring_calls,
            reached: files
                .iter()
                .map(|(name, edited, exploring_calls)| ReachedFile {
                    path: path(name),
                    edited: *edited,
                    exploring_calls: *exploring_calls,
                })
                .collect(),
            ..ToolEffects::default()
        }
    }

    fn with_effects(mut receipt: Receipt, effects: &ToolEffects, is_open: bool) -> Receipt {
        mark(&mut receipt, effects, is_open);
        receipt
    }

    #[test]
    fn effect_counts_calls_before_the_first_place_or_edit() {
        let map = pack(&[("place", "src/a.rs:1-9"), ("place", "src/b.rs"), ("memory", "01ABC")]);
        for (files, expected) in [
            // Exploring calls, places used, files missed, realised gain.
            (&[("src/b.rs", false, 1), ("src/c.rs", true, 4)][..], (1, 1, 1, 2_800.0)),
            // The edit comes before the place, and the gain counts the calls before the place.
            (&[("src/c.rs", true, 0), ("src/a.rs", false, 3)], (0, 1, 1, 800.0)),
            (&[("src/a.rs", true, 9)], (9, 1, 0, 0.0)),
            (&[("src/c.rs", false, 0)], (9, 0, 0, 0.0)),
            (&[], (9, 0, 0, 0.0)),
        ] {
            let receipt = with_effects(map.clone(), &turn(files, 9), false);
            let effect = receipt.effect.unwrap();
            let gain = effect.gain.unwrap();
            let found = (effect.exploring_calls, effect.places_used, effect.files_missed, gain);
            assert_eq!(found, expected, "{files:?}");
            assert_eq!(receipt.measured(), Some((gain, 500.0)));
            assert_eq!((receipt.items[2].used, receipt.items[2].edited), (None, None));
        }
    }

    #[test]
    fn place_that_the_answer_cites_is_used_after_all_calls() {
        let map = pack(&[("place", "src/a.rs:1-9"), ("place", "src/b.rs")]);
        let cites =
            |effects: ToolEffects, path: &str| ToolEffects { cited: vec![RelPath::new(path).unwrap()], ..effects };
        for (effects, expected) in [
            // Exploring calls, places used, realised gain.
            (cites(turn(&[], 0), "src/a.rs"), (0, 1, 3_800.0)),
            (cites(turn(&[], 2), "src/b.rs"), (2, 1, 1_800.0)),
            (cites(turn(&[], 2), "src/c.rs"), (2, 0, 0.0)),
            (cites(turn(&[("src/a.rs", false, 1)], 3), "src/b.rs"), (1, 2, 2_800.0)),
            // An edit elsewhere ends the search, and the place is used later.
            (cites(turn(&[("src/c.rs", true, 1)], 3), "src/b.rs"), (1, 1, 800.0)),
        ] {
            let effect = with_effects(map.clone(), &effects, false).effect.unwrap();
            let found = (effect.exploring_calls, effect.places_used, effect.gain.unwrap());
            assert_eq!(found, expected, "{effects:?}");
        }
    }

    #[test]
    fn effect_is_unknown_without_places_and_before_the_first_call_of_an_open_turn() {
        let read = turn(&[("src/a.rs", false, 0)], 1);
        for pack in [pack(&[("code", "src/a.rs:1-9")]), pack(&[("memory", "01ABC")])] {
            assert_eq!(with_effects(pack, &read, false).effect, None);
        }
        let map = pack(&[("place", "src/a.rs:1-9")]);
        assert_eq!(with_effects(map.clone(), &turn(&[], 0), true).effect, None);
        assert!(with_effects(map.clone(), &turn(&[], 0), false).effect.is_some());
        assert!(with_effects(map.clone(), &read, true).effect.is_some());
        // A receipt of an earlier version has no price of a call.
        let old = Receipt { estimate: None, ..map };
        let old = with_effects(old, &read, false);
        assert_eq!((old.effect.unwrap().places_used, old.measured()), (1, None));
    }
}
