//! What items cost in a prompt, in tokens.
//!
//! Counting takes longer than finding, so each entry is counted once, and a block is the sum of its parts. That is exact
//! because the encoding cuts a text into pieces of which none goes on past the beginning of a line that is not blank.

use std::sync::LazyLock;

use crate::item::Item;
use crate::{render, tokens};

/// What stands around the entries.
static FRAME: LazyLock<u32> =
    LazyLock::new(|| tokens::count(&render::opening()).saturating_add(tokens::count(&format!("{}\n", render::CLOSE))));

/// Sets an item's cost, with the empty line that parts it from the next one, and returns it.
pub(crate) fn measure(item: &mut Item) -> u32 {
    item.tokens = tokens::count(&format!("{}\n", render::entry(item)));
    item.tokens
}

/// What the block of these items costs in tokens, out of what each was found to cost when it was packed. It is what
/// [`tokens::count`] says of [`render::block`], and takes next to no time.
pub fn of_block(items: &[Item]) -> u32 {
    let Some(last) = items.last() else { return 0 };
    let parts = items.iter().map(|item| item.tokens).fold(*FRAME, u32::saturating_add);
    // No empty line comes behind the last one.
    let fence = render::fence(&last.text);
    let (parted, alone) = (
        tokens::count(&format!("{fence}\n\n")),
        tokens::count(&format!("{fence}\n")),
    );
    parts.saturating_sub(parted).saturating_add(alone)
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
            title: String::new(),
            text: text.to_owned(),
            first_line: 1,
            language: "rust",
            tokens: 0,
            score: 1.0,
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
    fn a_block_costs_what_its_parts_cost() {
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
        fn whatever_is_in_them(texts in prop::collection::vec(("\\PC{0,8}", "[ \t\r\n`}x\u{a0}\u{2028}<.]{0,24}", "\\PC{0,24}"), 1..5)) {
            let mut items: Vec<Item> =
                texts.iter().map(|(source, blank, text)| item(source, &format!("{blank}{text}{blank}"))).collect();
            check(&mut items);
        }
    }
}
