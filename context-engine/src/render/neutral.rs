//! Neutralising control tokens, markup and invisible characters in repository text.
//!
//! A tokenizer turns the literal text `<|im_start|>` anywhere in a prompt into the token that opens a turn. So
//! repository text must not contain control tokens, markup by which clients and models mark turns, tool calls and
//! thinking, or invisible characters. Tokens are recognised by class and not by a list of models; `control_tokens.txt`
//! lists those of the common model families for a test.
//!
//! The change is the smallest visible one that breaks the token, and depends on the text alone:
//!
//! | what | becomes |
//! |---|---|
//! | a tag or a token in angle brackets: `<\|im_start\|>`, `<tool_call>` | `&lt;\|im_start\|>`, `&lt;tool_call>` |
//! | a token in square brackets: `[INST]`, `]~b]` | `&#91;INST]`, `&#93;~b]` |
//! | a token that is also HTML or a type parameter: `<s>`, `</s>`, `<mask>` | `<s >`, `</s >`, `<mask >` |
//! | a label that opens a turn: `Human:` behind an empty line | `Human&#58;` |
//! | a bidirectional control or an invisible character | its escape, `\u{202e}` |

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Invisible characters, and characters that reorder text. Scripts and emoji need some of them between their own
/// characters, see [`is_part_of_writing`]; the fillers of old Hangul and the separators of Mongolian are letters.
const INVISIBLE: &str =
    r"[[\p{Default_Ignorable_Code_Point}\x{FFF9}-\x{FFFB}]--[\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}]]+";

/// White space inside a tag, including escaped [`INVISIBLE`] characters.
const GAP: &str = r"(?:\s|\\u\{[0-9a-f]+\})*";

/// Tag names that do not occur in ordinary code, in any case and with attributes.
const TAGS: [&str; 14] = [
    r"muninn",
    r"(?:think|thinking|invoke)\b",
    r"(?:system|user|human|assistant|developer)(?:\s|[-_])*(?:reminder|warning|message|prompt|notification|instructions|query)",
    r"environment[-_](?:context|details)",
    r"(?:local[-_])?command[-_](?:name|message|args|contents|stdout|stderr|caveat)",
    r"task[-_]notification",
    r"tool[-_]?(?:calls?|results?|responses?|outputs?|use|code)",
    r"function[-_]?(?:calls?|results?|responses?)",
    r"(?:function|parameter|tool)=",
    r"(?:start|end|begin|beginning)_of_\w+>",
    r"arg_(?:key|value)",
    r"fim_(?:prefix|middle|suffix|pad)",
    r"(?:antml|minimax|seed):",
    r"role>(?:system|human|user|assistant|observation)\b",
];

/// Tag names that also occur in ordinary code, such as the `User` of `Vec<User>`; matched in lower or upper case only.
const WORDS: &str = "system|user|human|assistant|developer|env|session|transcript|instructions";

/// Tag names that are also lower-case type names: unchanged directly behind a word, as in `shared_ptr<session>`.
const TYPES: [&str; 3] = ["user", "env", "session"];

/// Tokens in angle brackets that may also be HTML or a type parameter; matched exactly.
const SHORT: &str = r"/?s|bos|eos|bod|eod|sop|eop|eot|eom|soh|eoh|soa|eoa|sep|cls|pad|unk|mask|image|video|audio|[A-Z]{3}_TOKEN|(?:unused|extra_id_|reserved_|SPECIAL_)\d+";

/// Tokens in square brackets, without the bracket. Mistral's `[ARGS]`, `[PREFIX]` and similar tokens are missing,
/// because they open and end nothing and occur in help texts.
const BRACKETS: [&str; 5] = [
    r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|THINK|MODEL_SETTINGS|gMASK|sMASK|BOS|EOS|EOT)\]",
    r"(?:UNUSED_TOKEN|control)_\d+\]",
    r"\|(?:system|user|assistant|tool|endofturn)\|\]",
    r"e~\[",
    r"\s*(?i:SYSTEM NOTIFICATION|SUGGESTION MODE|Request interrupted)",
];

/// The pattern of everything to neutralise except invisible characters.
static CONTROLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let tags = TAGS.join("|");
    let words = format!("(?:{WORDS}|{})(?-u:\\b)", WORDS.to_uppercase());
    let classes = [
        // `<|im_start|>`, `<|turn>`, `<turn|>`, and everything with a fullwidth bar, which does not occur in code.
        r#"<[|｜][\w"/][^\s<>|｜]{0,63}[|｜]?>|<\w{1,64}[|｜]>|</?｜"#.to_owned(),
        format!("<(?i:{tags})"),
        format!("<(?P<word>{words})"),
        format!("<{GAP}/{GAP}(?:(?i:{tags})|{words})"),
        // Requires the closing bracket, because `i < tool_calls.len()` is a comparison.
        format!("<{GAP}(?:(?i:{tags})[^<>]{{0,80}}|{words}{GAP})>"),
        format!("<(?P<short>{SHORT})>"),
        "<</?SYS>>".to_owned(),
        format!(r"\[(?:{})", BRACKETS.join("|")),
        // Of MiniMax: `]~!b[`, `]~b]`, `]!p~[`, `]<]start of image[>[`.
        r"\][~!]{1,2}[a-z]~?[\[\]]|\]<\][a-z ]{1,40}\[>\[".to_owned(),
        r"\n[ \t\r]*\n[ \t]*(?:Human|Assistant)(?P<label>:)".to_owned(),
    ];
    Regex::new(&classes.join("|")).ok()
});

/// Returns the text without control tokens of models, markup of clients and invisible characters. Other text is
/// unchanged, and a second call changes nothing.
pub fn neutralize(text: &str) -> Cow<'_, str> {
    let mut text = visible(text);
    let Some(controls) = CONTROLS.as_ref() else {
        return Cow::Owned(text.replace('<', "&lt;").replace('[', "&#91;").replace(']', "&#93;"));
    };
    // An entity can complete a token around it: `<|/<start_of_turn>` becomes `<|/&lt;start_of_turn>`.
    while let Some(neutral) = broken(controls, &text) {
        text = Cow::Owned(neutral);
    }
    text
}

/// Breaks every token; `None` if there is none.
fn broken(controls: &Regex, text: &str) -> Option<String> {
    let (mut neutral, mut copied, mut from) = (String::new(), 0, 0);
    while let Some(found) = controls.captures_at(text, from) {
        let Some(whole) = found.get(0) else { break };
        // A token may contain another, so the search continues directly behind the replaced character.
        let (at, entity) = match (found.name("short"), found.name("label")) {
            (Some(short), _) => (short.end(), " >"),
            (_, Some(label)) => (label.start(), "&#58;"),
            _ => (whole.start(), entity(&text[whole.start()..])),
        };
        from = at + 1;
        let is_type = found.name("word").is_some_and(|word| TYPES.contains(&word.as_str()));
        if is_type && is_behind_word(&text[..at]) {
            continue;
        }
        neutral.push_str(&text[copied..at]);
        neutral.push_str(entity);
        copied = from;
    }
    if copied == 0 {
        return None;
    }
    neutral.push_str(&text[copied..]);
    Some(neutral)
}

fn entity(token: &str) -> &'static str {
    match token.as_bytes().first() {
        Some(b'<') => "&lt;",
        Some(b'[') => "&#91;",
        _ => "&#93;",
    }
}

/// Returns whether an opening bracket behind this text begins a type parameter: `vector<session>`,
/// `collect::<session>`.
fn is_behind_word(before: &str) -> bool {
    let last = before.chars().next_back();
    last.is_some_and(char::is_alphanumeric) || before.ends_with("::")
}

/// Returns the text with its invisible characters escaped.
fn visible(text: &str) -> Cow<'_, str> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(INVISIBLE).ok());
    let Some(pattern) = PATTERN.as_ref().filter(|_| !text.is_ascii()) else {
        return Cow::Borrowed(text);
    };
    pattern.replace_all(text, |captures: &Captures<'_>| {
        let Some(found) = captures.get(0) else {
            return String::new();
        };
        let mut before = text[..found.start()].chars().next_back();
        let mut written = String::new();
        for character in found.as_str().chars() {
            if is_part_of_writing(character, before) {
                written.push(character);
            } else {
                written.extend(character.escape_unicode());
            }
            before = written.chars().next_back();
        }
        written
    })
}

/// Returns whether an invisible character joins or varies the character before it: joiners in emoji and in Arabic and
/// Indic scripts, variation selectors behind emoji and digits.
fn is_part_of_writing(character: char, before: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match character {
        '\u{200c}' | '\u{200d}' => {
            before.is_alphabetic() && !before.is_ascii() || !before.is_alphanumeric() && before > '\u{ff}'
        }
        '\u{fe00}'..='\u{fe0f}' => !before.is_ascii() || before.is_ascii_digit() || matches!(before, '#' | '*'),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
