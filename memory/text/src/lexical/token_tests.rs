//! The terms of words in all scripts, and that those of ASCII text are what they were in the first version.

use rust_stemmers::{Algorithm, Stemmer};

use super::script_texts::SCRIPTS;
use super::tokens::{Tokenizer, content_terms, question_terms};
use super::word::words;

fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    Tokenizer::new().each_term(text, |term| terms.push(term.to_owned()));
    terms
}

/// The terms of an ASCII text by version 1 of the tokenizer.
fn terms_of_version_1(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut terms = Vec::new();
    let mut stem = |part: &str| {
        let lower = part.to_lowercase();
        let digits = lower.bytes().all(|b| b.is_ascii_digit());
        if lower.len() < 2 || digits && lower.len() > 6 {
            return;
        }
        if lower.len() < 4 || !lower.bytes().all(|b| b.is_ascii_lowercase()) {
            return terms.push(lower);
        }
        terms.push(stemmer.stem(&lower).into_owned());
    };
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let mut chain: (String, usize, usize) = Default::default();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(inside).map(|at| rest + at) {
        let end = text[start..].find(|c| !inside(c)).map_or(text.len(), |len| start + len);
        rest = end;
        let word = &text[start..end];
        if word.len() <= 64 {
            let parts = parts_of_version_1(word);
            parts.iter().for_each(|part| stem(part));
            if parts.len() > 1 {
                stem(&word.replace('_', ""));
            }
        }
        let continues = chain.1 > 0 && start == chain.2 + 1 && text.as_bytes()[chain.2] == b'-';
        if !continues {
            let (joined, count, _) = std::mem::take(&mut chain);
            if count > 1 && joined.len() <= 64 {
                stem(&joined);
            }
        }
        if chain.0.len() <= 64 {
            chain.0.push_str(&word.replace('_', ""));
        }
        (chain.1, chain.2) = (chain.1 + 1, end);
    }
    if chain.1 > 1 && chain.0.len() <= 64 {
        stem(&chain.0);
    }
    terms
}

fn parts_of_version_1(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let letters: Vec<char> = word.chars().collect();
    for (at, c) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]).filter(|before| *before != '_');
        let after = letters.get(at + 1);
        let splits = before.is_some_and(|before| {
            c.is_uppercase() && before.is_lowercase()
                || c.is_uppercase() && before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
                || before.is_numeric() && !c.is_numeric()
        });
        if *c == '_' || splits {
            parts.push(String::new());
        }
        if *c != '_' {
            parts.last_mut().unwrap().push(*c);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[test]
fn terms_of_ascii_text_are_those_of_version_1() {
    let sources = [
        include_str!("tokens.rs"),
        include_str!("stop.rs"),
        include_str!("bm25.rs"),
        include_str!("inverted.rs"),
        include_str!("../../../../ARCHITECTURE.md"),
        include_str!("../../Cargo.toml"),
        "HTTPServer sha256Hasher __init__ x86_64-unknown-linux-gnu a-b-c 12345678 1_234_567 ABCd3EFg -x- --dry-run _ __ a",
        "aB1cD2-eF3 don't e.g. O'Neill's CamelCASEWord ends_with_ -9 0x1F 1e6 v1.2.3-rc1",
    ];
    let long = format!("{} {}x {}-{}", "a1B2c3".repeat(20), "b".repeat(63), "c".repeat(40), "d".repeat(40));
    for text in sources.into_iter().chain([&*long]) {
        let ascii: String = text.chars().filter(char::is_ascii).collect();
        assert_eq!(terms(&ascii), terms_of_version_1(&ascii));
    }
}

/// Spellings of the same word.
const SPELLINGS: [&[&str]; 12] = [
    &["café", "cafe\u{301}", "CAFÉ", "CAFE\u{301}", "ｃａｆé"],
    &["Größe", "GRÖSSE", "Gro\u{308}ße", "GRÖẞE", "grösse"],
    &["Ｒｕｓｔ", "Rust", "ＲＵＳＴ"],
    &["ﬁle", "file", "FILE", "ﬁ\u{200d}le"],
    &["ガ", "ｶﾞ", "カ\u{3099}"],
    &["한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"],
    &["ΟΔΟΣ", "οδος", "οδοσ", "Οδος"],
    &["İ1", "ı1", "I1", "i1", "I\u{307}1"],
    &["soft\u{ad}hyphen", "softhyphen"],
    &["１２３", "123", "①②③"],
    &["Dž", "ǆ", "Ǆ", "ǅ"],
    &["naïve_Café", "nai\u{308}ve_Cafe\u{301}"],
];

#[test]
fn parts_of_a_text_in_any_script_have_its_terms() {
    for (script, text, parts) in SCRIPTS {
        let of_text: Vec<String> =
            content_terms(&mut Tokenizer::new(), text).into_iter().map(|(term, _)| term).collect();
        for part in parts {
            let of_part = question_terms(&mut Tokenizer::new(), part);
            assert!(!of_part.is_empty(), "{script}: {part} has no terms");
            assert!(of_part.iter().all(|term| of_text.contains(term)), "{script}: {part} {of_part:?} {of_text:?}");
        }
    }
}

#[test]
fn spellings_of_a_word_have_the_same_terms() {
    for spellings in SPELLINGS {
        let [first, others @ ..] = spellings else { unreachable!() };
        assert!(!terms(first).is_empty(), "{first}");
        for other in others {
            assert_eq!(terms(other), terms(first), "{other} {first}");
        }
    }
}

#[test]
fn runs_of_any_length_are_indexed() {
    for unit in ["漢字", "ひら", "カナ", "한글", "ไทย", "ລາວ", "ខ្មែរ", "မြန်မာ", "ꦗꦮ"]
    {
        for length in [22, 64, 65, 1_000] {
            let run: String = unit.chars().cycle().take(length).collect();
            let end: String = run.chars().skip(length - 3).collect();
            let text = format!("{run}終端");
            let of_text = terms(&text);
            assert!(of_text.len() >= length, "{unit} {length}");
            let mut of_end = question_terms(&mut Tokenizer::new(), &end);
            of_end.retain(|term| !of_text.contains(term));
            assert!(of_end.is_empty(), "{unit} {length}: {of_end:?}");
        }
    }
    // In scripts with spaces, a long word is cut, not dropped.
    for letter in ["ж", "ب", "क", "é"] {
        for length in [22, 64, 65, 1_000] {
            let word = letter.repeat(length);
            let expected = terms(&letter.repeat(length.min(64)));
            assert_eq!(terms(&word), expected, "{letter} {length}");
            assert_eq!(expected.len(), 1, "{letter} {length}");
        }
    }
}

#[test]
fn long_words_are_found_by_their_parts() {
    for (word, parts) in [
        (
            "test_that_when_the_ledger_is_replayed_the_balance_is_recomputed_correctly",
            &["ledger", "replayed", "balance", "correctly"][..],
        ),
        (
            "AbstractSingletonProxyFactoryBeanInterceptorRegistrationConfigurationSupport",
            &["interceptor", "registration", "support", "singleton"],
        ),
        ("ABSTRACT_SINGLETON_PROXY_FACTORY_BEAN_INTERCEPTOR_REGISTRATION_CONFIGURATION", &["interceptor", "BEAN"]),
        (
            "should2024ReturnTheLedgerEntriesOfAllAccountsWhenTheBalanceIsReplayedTwice",
            &["ledger", "balance", "should2024"],
        ),
        ("проверка_что_журнал_воспроизводится_и_баланс_пересчитывается_правильно_всегда", &["журнал", "баланс"]),
        ("getDonaudampfschifffahrtsgesellschaftskapitänsmützenverzeichnisEintragListe", &["eintrag", "liste"]),
        (
            "Rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetzgebungsrat",
            &["Rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetzgebungsrat"],
        ),
        ("ledger_snapshot_e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", &["ledger", "snapshot"]),
        ("__very_long_internal_name_of_a_generated_function_for_the_ledger_module__", &["ledger", "generated"]),
        (
            "ＴｈｅＬｅｄｇｅｒＥｎｔｒｉｅｓＯｆＡｌｌＡｃｃｏｕｎｔｓＷｈｅｎＴｈｅＢａｌａｎｃｅＩｓＲｅｐｌａｙｅｄ",
            &["ledger", "balance"],
        ),
    ] {
        assert!(word.len() > 64, "{word}");
        let of_word = terms(word);
        for part in parts.iter().chain([&word]) {
            let of_part = question_terms(&mut Tokenizer::new(), part);
            assert!(!of_part.is_empty(), "{part}");
            for term in of_part {
                assert!(of_word.contains(&term), "{word}: {part} {term} {of_word:?}");
            }
        }
        assert!(of_word.iter().all(|term| term.chars().count() <= 64), "{of_word:?}");
    }
}

#[test]
fn encoded_data_has_no_terms() {
    let mut random = fastrand::Rng::with_seed(4);
    for (name, alphabet) in [
        ("hex", "0123456789abcdef"),
        ("HEX", "0123456789ABCDEF"),
        ("alphanumeric", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
        ("letters", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
        ("base32", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        ("low base36", "abcdefghijklmnopqrstuvwxyz0123456789"),
    ] {
        let letters: Vec<char> = alphabet.chars().collect();
        let drawn = 200;
        let indexed = (0..drawn).filter(|_| {
            let data: String = (0..random.usize(65..200)).map(|_| letters[random.usize(..letters.len())]).collect();
            !terms(&data).is_empty()
        });
        let indexed = indexed.count();
        assert!(indexed * 100 <= drawn, "{name}: {indexed} of {drawn}");
    }
}

#[test]
fn symbols_count_as_the_letters_they_stand_for() {
    for (text, question) in [
        ("⽇本の設定", "日本"),
        ("日本の設定", "⽇本"),
        ("サイズは㌔", "キロ"),
        ("㍻元年", "平成"),
        ("㍿の設定", "株式会社"),
        ("㈱の設定", "株"),
        ("㊙の文書", "秘"),
        ("10 ㎏", "kg"),
        ("Muninn™ tokens", "muninn"),
        ("Call ℡ 5", "tel"),
        ("№7", "no7"),
        ("⺟の日", "母の日"),
        ("🄰🄱🄲", "abc"),
        ("㋀の予定", "1月"),
    ] {
        let of_text = terms(text);
        let of_question = question_terms(&mut Tokenizer::new(), question);
        assert!(!of_question.is_empty(), "{question}");
        assert!(of_question.iter().all(|term| of_text.contains(term)), "{question} {of_question:?} {of_text:?}");
    }
    assert!(terms("´ ¨ … ‼ ℃ → ∑ · ×").is_empty());
}

#[test]
fn questions_have_single_characters_only_where_they_stand_alone() {
    let of = |question| question_terms(&mut Tokenizer::new(), question);
    assert_eq!(of("令牌桶"), ["令牌", "牌桶"]);
    assert_eq!(of("桶"), ["桶"]);
    assert_eq!(of("Rust の 桶"), ["rust", "の", "桶"]);
    assert_eq!(terms("令牌の"), ["令", "令牌", "牌", "牌の"]);
    assert_eq!(terms("Rust言語2024年"), ["rust", "言", "言語", "語", "2024", "年"]);
}

#[test]
fn marks_and_ignored_characters_do_not_end_words() {
    let of = |text| -> Vec<&str> { words(text).map(|word| word.text).collect() };
    assert_eq!(of("cafe\u{301} स्थिर, x"), ["cafe\u{301}", "स्थिर", "x"]);
    assert_eq!(of("soft\u{ad}hyphen \u{301}a"), ["soft\u{ad}hyphen", "a"]);
    assert_eq!(terms("हिन्दी_भाषा"), ["हिन्दी", "भाषा", "हिन्दीभाषा"]);
    assert_eq!(terms("µs ½ ™ ㎏"), ["μs", "tm", "kg"]);
}

#[test]
fn hostile_text_takes_time_and_terms_in_proportion_to_its_length() {
    for unit in ["\u{fdfa}", "é\u{301}\u{301}\u{301}", "\u{1f469}\u{200d}", "漢", "\u{3300}", "_é", "é-", "\u{ad}"]
    {
        let text = unit.repeat(100_000);
        let mut count = 0usize;
        Tokenizer::new().each_term(&text, |term| count += 1 + term.len() / 1_000);
        assert!(count <= 2_500_000, "{unit}: {count}");
    }
}
