//! Compares the word pieces with those of the `tokenizers` crate over the shipped vocabulary.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tokenizers::Tokenizer;

use super::*;
use crate::embed::static_vectors::StaticVectors;

const UNKNOWN_ID: u32 = 1 << 20;

/// Creates the reference tokenizer over the pieces of a vocabulary, with the same numbers.
fn reference(vocabulary: &Vocabulary) -> Tokenizer {
    let mut numbered: serde_json::Map<String, serde_json::Value> =
        (0..vocabulary.len()).map(|at| (vocabulary.piece(at), at.into())).collect();
    numbered.entry(UNKNOWN).or_insert(UNKNOWN_ID.into());
    let longest = if vocabulary.unknown.is_some() { LONGEST_WORD_OF_BERT } else { LONGEST_WORD };
    let described = serde_json::json!({
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": true, "lowercase": true
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": {
            "type": "WordPiece", "unk_token": UNKNOWN, "continuing_subword_prefix": "##",
            "max_input_chars_per_word": longest, "vocab": numbered
        },
    });
    Tokenizer::from_bytes(described.to_string()).unwrap()
}

/// Splits names by a slow and simple algorithm, over characters.
fn cut_names(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    let mut cut = String::new();
    for (at, character) in all.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| all[before]);
        let small = |offset: usize| all.get(at + offset).is_some_and(char::is_ascii_lowercase);
        let after_small = before.is_some_and(|one| one.is_ascii_lowercase() || one.is_ascii_digit());
        let ends_capitals = before.is_some_and(|one| one.is_ascii_uppercase()) && small(1) && small(2);
        if character.is_ascii_uppercase() && (after_small || ends_capitals) {
            cut.push(' ');
        }
        cut.push(*character);
    }
    cut
}

fn expected(reference: &Tokenizer, text: &str) -> Vec<u32> {
    let text = if reference.token_to_id(UNKNOWN) == Some(UNKNOWN_ID) { cut_names(text) } else { text.to_owned() };
    let encoding = reference.encode_fast(text, false).unwrap();
    encoding.get_ids().iter().copied().filter(|id| *id != UNKNOWN_ID).collect()
}

fn found(vocabulary: &Vocabulary, text: &str) -> Vec<u32> {
    let mut pieces = Vec::new();
    vocabulary.pieces(text, usize::MAX, &mut pieces);
    pieces.into_iter().map(u32::from).collect()
}

impl Vocabulary {
    fn piece(&self, at: usize) -> String {
        let letters = &self.letters[self.starts[at] as usize..self.starts[at + 1] as usize];
        let letters = std::str::from_utf8(letters).unwrap();
        if self.continues[at] { format!("##{letters}") } else { letters.to_owned() }
    }
}

fn shipped() -> Vocabulary {
    StaticVectors::shipped().unwrap().into_vocabulary()
}

/// A vocabulary as BERT's: with unknown words, punctuation and letters outside ASCII.
fn like_bert() -> Vocabulary {
    let shipped = shipped();
    let mut pieces: Vec<String> = (0..shipped.len()).map(|at| shipped.piece(at)).collect();
    pieces.push(UNKNOWN.to_owned());
    pieces.extend(('!'..='~').filter(char::is_ascii_punctuation).map(String::from));
    for letter in
        ['\u{df}', '\u{436}', '\u{3b1}', '\u{20ac}', '\u{2019}', '\u{4e2d}', '\u{6587}', '\u{ac00}', '\u{131}']
    {
        pieces.extend([format!("{letter}"), format!("##{letter}")]);
    }
    Vocabulary::new(pieces.iter().map(String::as_bytes).collect::<Vec<_>>().into_iter()).unwrap()
}

#[test]
fn every_file_of_this_repository_is_cut_as_the_reference_cuts_it() {
    let vocabulary = shipped();
    let reference = reference(&vocabulary);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut lines = BTreeSet::new();
    for folder in ["memory", "repo-tools", "context-engine", "gateway/wire"] {
        let mut folders = vec![root.join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
                    lines.extend(text.lines().map(str::to_owned));
                }
            }
        }
    }
    assert!(lines.len() > 3000, "{} lines are too few", lines.len());
    for line in &lines {
        assert_eq!(found(&vocabulary, line), expected(&reference, line), "{line}");
    }
}

#[test]
fn awkward_texts_are_cut_as_the_reference_cuts_them() {
    let long = "a".repeat(LONGEST_WORD) + " " + &"a".repeat(LONGEST_WORD + 1);
    let longer = "a".repeat(LONGEST_WORD_OF_BERT) + " " + &"a".repeat(LONGEST_WORD_OF_BERT + 1);
    let texts = [
        "",
        "\0",
        "a\0b",
        "caf\u{e9} cafe\u{301} na\u{ef}ve",
        "\u{130}stanbul \u{131}",
        "K\u{212a} \u{fb01}le",
        "x\u{ad}y",
        "\u{4e2d}a\u{6587}b",
        "\u{f900}x",
        "a\u{200b}b c\u{a0}d\u{85}e\u{2028}f",
        "\u{feff}bom",
        "don\u{2019}t \u{37e}end",
        "\u{1d}a\u{b}b",
        "\u{fffd}a\u{fffd}",
        "e\u{301}\u{301}\u{301}",
        "\u{ac00}a",
        "URLs HTTPServer getHTTPOk aB1C2Dd",
        "\u{344}",
        "_a__b-c.d",
        "1stItem2ndABCDef",
        "\u{1f600}x",
        "\u{903}a",
        "stra\u{df}e",
        "\u{20ac}5, \u{436}\u{416}! (\u{3b1})",
        &long,
        &longer,
    ];
    for vocabulary in [shipped(), like_bert()] {
        let reference = reference(&vocabulary);
        for text in texts {
            assert_eq!(found(&vocabulary, text), expected(&reference, text), "{text:?}");
        }
    }
}

#[test]
fn names_are_cut_where_their_case_changes() {
    let vocabulary = shipped();
    for (name, words) in [("parseHTTPHeader", "parse http header"), ("URLs", "urls"), ("HTTP2Server", "http2 server")] {
        assert_eq!(found(&vocabulary, name), found(&vocabulary, words), "{name}");
    }
    assert_ne!(found(&vocabulary, "parseheader"), found(&vocabulary, "parse header"));
}

#[test]
fn no_more_pieces_than_asked_for() {
    let vocabulary = shipped();
    for most in [0, 1, 5, 100] {
        let mut pieces = Vec::new();
        vocabulary.pieces(&"tokenization ".repeat(50), most, &mut pieces);
        assert_eq!(pieces.len(), most.min(found(&vocabulary, &"tokenization ".repeat(50)).len()));
    }
}

#[test]
fn a_vocabulary_with_a_hole_or_a_double_is_refused() {
    for pieces in [vec!["a", "b", "a"], vec!["a", ""], vec!["##a", "##a"]] {
        let given = pieces.iter().map(|piece| piece.as_bytes()).collect::<Vec<_>>();
        assert!(Vocabulary::new(given.into_iter()).is_err(), "{pieces:?}");
    }
    let both = [b"a".as_slice(), b"##a"];
    assert_eq!(found(&Vocabulary::new(both.into_iter()).unwrap(), "aaa a b"), [0, 1, 1, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_cut_as_the_reference_cuts_it(texts in prop::collection::vec(prop_oneof![
        any::<String>(), "[a-zA-Z0-9_ .\u{e0}-\u{17f}\u{300}-\u{36f}]{0,60}", "([A-Z]{0,3}[a-z]{0,4}[0-9]?){0,12}",
    ], 64)) {
        thread_local! {
            static BOTH: [(Vocabulary, Tokenizer); 2] = [shipped(), like_bert()].map(|vocabulary| {
                let reference = reference(&vocabulary);
                (vocabulary, reference)
            });
        }
        BOTH.with(|both| {
            for (text, (vocabulary, reference)) in texts.iter().flat_map(|text| both.each_ref().map(|one| (text, one))) {
                prop_assert_eq!(found(vocabulary, text), expected(reference, text), "{:?}", text);
            }
            Ok(())
        })?;
    }
}
