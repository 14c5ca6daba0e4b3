//! Finds assignments of a random value to a secret's name.
//!
//! Every language and format writes assignments differently, so the text is read in three steps: the whole name around
//! the matched part, the separator, and the value. Names are frequent in code and the first two steps reject most of
//! them; the shape of the value decides last, and strictly.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::Secret;
use super::name::{NameClass, class};
use super::text::{holds, line_before};
use super::value::{is_made_by_policy, is_random, is_reference, is_uuid, is_wordy};

/// Parts of secrets' names, in lower case.
pub(super) const NAME_PARTS: &[&str] = &["pass", "pwd", "secret", "token", "key"];

/// Maximum length of a name on each side of the matched part.
const LONGEST_NAME: usize = 64;
/// Maximum length of a value.
const LONGEST_VALUE: usize = 1024;

/// Separators of a name and its value. `value` is a separator in pairs such as `name: NAME, value: VALUE`.
static BETWEEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"(?x-u) \A (?:
        (?P<pair> \\?["']? [,]? [\ \t]{0,8} (?:\r?\n[\ \t]{0,24})? \\?["']? [vV]alue \\?["']? [\ \t]? [:=] [\ \t]? )
      | (?P<equals>
            (?:\\?["'`])? \)? \]? (?:\[\])? (?:\ \{\ get;(?:\ (?:set|init);)?\ \})?
            (?:
                (?: [\ ]? : [\ ]? [A-Za-z&*'] [\w&'<>\[\]\ .:?|]{0,40}? | \ [*\[\]A-Za-z][\w\[\]]{0,20} ) [\ ]? = [\ ]
              | [\ \t]{0,16} (?: :=? | [:|?!=+]? ={1,3} >? | => | \?\? | \|\| | \ or\ ) [\ \t]{0,8}
            ) )
      | (?P<comma> (?:\\?["'`]) , [\ \t]{0,4} )
      | (?P<call> \( )
      | (?P<element> > )
      | (?P<blank> [\ \t]{1,8} )
    )"#;
    Regex::new(pattern).ok()
});

/// The result of reading a name and its value.
pub(super) struct Assignment {
    /// The end of an unquoted value; names in it are not read again.
    pub(super) end: usize,
    pub(super) secret: Option<Secret>,
}

/// The name around a match at `at`.
pub(super) fn name_around(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let least = at.saturating_sub(LONGEST_NAME);
    let mut start = at;
    while start > least && belongs(bytes[start - 1]) {
        start -= 1;
    }
    let most = bytes.len().min(at + LONGEST_NAME);
    let mut end = at;
    while end < most && belongs(bytes[end]) && bytes[end] != b'.' {
        end += 1;
    }
    start..end
}

/// Reads the value assigned to a name; `None` if there is none, or the name is not a secret's.
pub(super) fn assigned(text: &str, name: Range<usize>) -> Option<Assignment> {
    // A quick check: most names in code are followed by something else.
    let next = *text.as_bytes().get(name.end)?;
    if !matches!(
        next,
        b'"' | b'\''
            | b'`'
            | b'\\'
            | b' '
            | b'\t'
            | b':'
            | b'='
            | b'('
            | b')'
            | b']'
            | b'['
            | b'>'
            | b','
            | b'|'
            | b'?'
            | b'!'
            | b'\n'
            | b'\r'
    ) {
        return None;
    }
    if !may_assign(text, &name) {
        return None;
    }
    let class = class(full_name(text, &name))?;
    if is_part_of_address(line_before(text, name.start)) {
        return None;
    }
    let between = BETWEEN.as_ref()?.captures(&text[name.end..])?;
    let value = value(text, &name, &between)?;
    let secret = &text[value.inside.clone()];
    let in_connection = is_in_connection(text, &name, secret, class);
    let is_secret = (in_connection || is_credential(secret, &value, class)) && !is_reference(secret);
    let kind = if in_connection { "connection-string" } else { class.kind };
    Some(Assignment {
        end: if value.is_quoted { name.end } else { value.inside.end },
        secret: is_secret.then_some(Secret { kind, range: value.inside }),
    })
}

/// Returns whether the text after a name and a blank can be a separator and not the next word of a sentence.
fn may_assign(text: &str, name: &Range<usize>) -> bool {
    let rest = &text.as_bytes()[name.end..];
    if rest[0] != b' ' {
        return true;
    }
    let near = &rest[..rest.len().min(26)];
    let is_separator = |byte: &u8| b":=|?!\"'".contains(byte);
    near.iter().any(is_separator) || near.starts_with(b" {") || near.starts_with(b"  ") || is_listed(text, name)
}

/// `--token value`, `ENV TOKEN value`: the separator is a blank.
fn is_listed(text: &str, name: &Range<usize>) -> bool {
    let before = line_before(text, name.start);
    text[name.clone()].starts_with("--")
        || ["--", "ENV ", "#define ", "export "].iter().any(|word| before.ends_with(word))
}

/// Returns whether the name is part of a URL or ARN: `https://x-access-token:...`,
/// `arn:aws:secretsmanager:...:secret:...`. Other rules read these.
fn is_part_of_address(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`')).next().unwrap_or("");
    (word.contains("://") || word.contains("arn:")) && !word.contains(['?', '&', '#', ';'])
}

/// The name with the words before it: `aws secret key`, where only the last word is an identifier.
fn full_name<'a>(text: &'a str, name: &Range<usize>) -> &'a str {
    let own = &text[name.clone()];
    if !own.eq_ignore_ascii_case("key") {
        return own;
    }
    let before = line_before(text, name.start);
    let words = before.rsplit(|c: char| !(c.is_ascii_alphabetic() || c == ' ')).next().unwrap_or("");
    let wanted = words.rsplit(' ').skip(1).take(3).take_while(|word| !word.is_empty());
    let more: usize = wanted.map(|word| word.len() + 1).sum();
    &text[name.start - more.min(words.len())..name.end]
}

struct Value {
    inside: Range<usize>,
    is_quoted: bool,
}

fn value(text: &str, name: &Range<usize>, between: &Captures<'_>) -> Option<Value> {
    let before = line_before(text, name.start);
    let start = name.end + between.get(0)?.end();
    let has = |group| between.name(group).is_some();
    let fits = match () {
        () if has("blank") => is_listed(text, name),
        () if has("element") => before.ends_with('<'),
        () if has("call") => text[name.clone()].to_ascii_lowercase().contains("set"),
        () => true,
    };
    let value = fits.then(|| read_value(text, start)).flatten()?;
    let needs_quotes = has("comma") || has("call");
    (value.is_quoted || !needs_quotes).then_some(value)
}

/// The value at `start`, quoted or not.
fn read_value(text: &str, start: usize) -> Option<Value> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(start + LONGEST_VALUE);
    let mut at = start;
    // r"", b"", @""
    if matches!(bytes.get(at), Some(b'r' | b'b' | b'u' | b'@')) && matches!(bytes.get(at + 1), Some(b'"' | b'\'')) {
        at += 1;
    }
    let is_escaped = bytes.get(at) == Some(&b'\\') && matches!(bytes.get(at + 1), Some(b'"' | b'\''));
    let open = at + usize::from(is_escaped);
    let quote = *bytes.get(open)?;
    if matches!(quote, b'"' | b'\'' | b'`') {
        let from = open + 1;
        let length = bytes[from..limit.max(from)].iter().position(|byte| *byte == quote || *byte == b'\n')?;
        let end = from + length - usize::from(is_escaped && length > 0 && bytes[from + length - 1] == b'\\');
        let is_closed = bytes[from + length] == quote && !text[from..end].contains([' ', '\t']);
        return is_closed.then_some(Value { inside: from..end, is_quoted: true });
    }
    let mut end = at;
    while end < limit && is_bare(bytes[end]) && !(bytes[end] == b'&' && starts_parameter(&bytes[end + 1..limit])) {
        end += 1;
    }
    // A call, an index or a typed name is an expression, not a value.
    let is_expression = matches!(bytes.get(end), Some(b'(' | b'[' | b'{'))
        || (bytes.get(end) == Some(&b'<') && bytes.get(end + 1) != Some(&b'/'))
        || is_member(&bytes[at..end]);
    while end > at && matches!(bytes[end - 1], b'.' | b':') {
        end -= 1;
    }
    (end > at && !is_expression).then_some(Value { inside: at..end, is_quoted: false })
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`\\,;()[]{}<>|".contains(&byte)
}

/// Returns whether a query parameter `name=` starts here.
fn starts_parameter(rest: &[u8]) -> bool {
    let name =
        rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')).count();
    name > 0 && rest.get(name) == Some(&b'=')
}

/// Returns whether this is a member access such as `self.token2`. A token with dots has longer parts.
fn is_member(value: &[u8]) -> bool {
    value.contains(&b'.')
        && value.len() < 24
        && value.split(|byte| *byte == b'.').all(|part| {
            part.first().is_some_and(u8::is_ascii_alphabetic)
                && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        })
}

fn is_credential(secret: &str, value: &Value, class: NameClass) -> bool {
    if is_uuid(secret) {
        return class.takes_uuid || class.kind == "heroku-key";
    }
    if secret.len() < class.least {
        return false;
    }
    (class.is_password && value.is_quoted && is_made_by_policy(secret)) || is_random(secret)
}

/// Returns whether this is the password of a connection string, in which any word can be a password: a server or a user
/// precedes it, and no comma does, unlike in the arguments of a call.
fn is_in_connection(text: &str, name: &Range<usize>, secret: &str, class: NameClass) -> bool {
    const PARTS: &[&str] =
        &["server=", "host=", "data source=", "user id=", "uid=", "user=", "username=", "initial catalog=", "jdbc:"];
    if !class.is_password || secret.len() < 4 || !text[name.end..].starts_with('=') {
        return false;
    }
    let before = line_before(text, name.start);
    let joined =
        before.ends_with([';', '&', '?']) || (before.ends_with(' ') && !before.trim_end().ends_with([',', '(']));
    joined
        && PARTS.iter().any(|part| holds(before, part))
        && !(secret.bytes().all(|byte| byte.is_ascii_alphabetic()) && is_wordy(secret))
}
