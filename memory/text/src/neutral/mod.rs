//! Neutralises text of others before it reaches a model: no control token, no tag of a client, no label that opens a
//! turn, no invisible and no control character.
//!
//! A tokenizer turns the literal text `<|im_start|>` anywhere in a prompt into the token that opens a turn, and a model
//! believes `<system-reminder>` wherever it stands. Clients invent names faster than a list grows, so markers are
//! recognised by their shape. In prose every tag is one. In code most tags are types, elements and placeholders, so
//! there the name, the closing tag and the text before it decide: see [`Ground`]. `control_tokens.txt` lists the tokens of
//! the common model families for a test.
//!
//! The change is the smallest visible one that breaks the marker, and a reader can take it back:
//!
//! | what | becomes |
//! |---|---|
//! | a tag or a token in angle brackets: `<\|im_start\|>`, `<tool_call>` | `&lt;\|im_start\|>`, `&lt;tool_call>` |
//! | one with other brackets: `＜system＞`, `◁think▷` | `&#65308;system＞`, `&#9665;think▷` |
//! | a token in square brackets: `[INST]`, `]~b]` | `&#91;INST]`, `&#93;~b]` |
//! | a token that is also HTML or a type parameter: `<s>`, `<mask>` | `<s >`, `<mask >` |
//! | a label that opens a turn: `Human:` at the start of a line | `Human&#58;` |
//! | a control character or an invisible one | its escape, `\u{1b}` |
//!
//! The text is read once. Every look ahead or back is bounded, so a hostile text costs no more than another of its size.

mod brackets;
mod change;
mod characters;
mod fences;
mod fold;
mod labels;
mod names;
mod passes;
mod tags;

pub(super) use change::Change;
pub use change::Ground;
pub use passes::{neutralize, restore};
