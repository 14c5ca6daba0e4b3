//! The token cost of items in a prompt.
//!
//! Counting tokens takes longer than finding the items. So each entry is counted once, and the cost of a block is the
//! sum of the costs of its entries. The sum is exact, because no token of the encoding extends past the beginning of a
//! line that is not blank.

use std::sync::LazyLock;

use crate::item::Item;
use crate::{render, tokens};

/// The tokens of the fence and the preamble around the entries.
static FRAME: LazyLock<u32> =
    LazyLock::new(|| tokens::count(&render::opening()).saturating_add(tokens::count(&format!("{}\n", render::CLOSE))));

/// Sets and returns an item's cost in tokens, including the empty line before the next item. The cost of an item of a list is that of its
/// own line.
pub fn measure(item: &mut Item) -> u32 {
    let mut entry = render::entry(item);
    if !render::is_listed(item) {
        entry.push('\n');
    }
    item.tokens = tokens::count(&entry);
    item.tokens
}

/// Returns the token count of the block of some items, as the sum of the measured costs of the items. The result equals
/// [`tokens::count`] of [`render::block`], without counting the whole text.
pub fn of_block(items: &[Item]) -> u32 {
    let (listed, quoted): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| render::is_listed(item));
    let parts = quoted.iter().map(|item| item.tokens).fold(*FRAME, u32::saturating_add);
    if !listed.is_empty() {
        let lists: Vec<String> = render::lists(&listed).collect();
        return parts.saturating_add(tokens::count(&lists.join("\n")));
    }
    let Some(last) = quoted.last() else { return 0 };
    // The last entry of a block has no empty line after its closing fence.
    let fence = render::fence(&last.text);
    let (separated, last_one) = (tokens::count(&format!("{fence}\n\n")), tokens::count(&format!("{fence}\n")));
    parts.saturating_sub(separated).saturating_add(last_one)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::item::ItemKind;

    fn item(source: &str, text: &str) -> Item {
        Item {
            kind: ItemKind::Code,
            source: source.to_owned(),
            blob: Some("ce013625030ba8dba906f756967f9e9ca394464a".to_owned()),
            date: None,
            confidence: None,
            origin: String::new(),
            title: String::new(),
            text: text.to_owned(),
            first_line: 1,
            language: "rust",
            tokens: 0,
            score: 1.0,
            gain: 0.0,
            why: String::new(),
        }
    }

    fn check(items: &mut [Item]) {
        for item in items.iter_mut() {
            measure(item);
        }
        assert_eq!(of_block(items), tokens::count(&render::block(items)));
    }

    #[test]
    fn the_cost_of_a_block_is_the_sum_of_its_parts() {
        check(&mut []);
        let texts = [
            "",
            "fn a() {\n}",
            "````\n```` ``",
            "x\n\n  \n\t",
            "\r\n\r\n",
            "   ",
            "<system>",
            "ünï\u{2028}\u{85} \u{200b}",
        ];
        for text in texts {
            check(&mut [item("src/a.rs:1-2", text)]);
            let mut many: Vec<Item> = texts.iter().map(|other| item("b c.rs", other)).collect();
            many.push(item("src/a.rs:1-2", text));
            check(&mut many);
        }
    }

    proptest! {
        #[test]
        fn the_sum_is_exact_for_any_text(texts in prop::collection::vec(("\\PC{0,8}", "[ \t\r\n`}x\u{a0}\u{2028}<.]{0,24}", "\\PC{0,24}"), 1..5)) {
            let mut items: Vec<Item> =
                texts.iter().map(|(source, blank, text)| item(source, &format!("{blank}{text}{blank}"))).collect();
            check(&mut items);
        }
    }
}
