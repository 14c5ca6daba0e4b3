//! Tags and tokens in angle brackets.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::{memchr, memmem};

use super::characters::is_invisible;
use super::fold::{folded, is_bar, is_wide_bracket};
use super::{Change, Ground, names};

/// The most characters between `<` and a name, and of a name.
const LONGEST_GAP: usize = 32;
const LONGEST_NAME: usize = 64;
/// The most bytes up to the `>` of a tag.
const LONGEST_TAG: usize = 1 << 10;
/// The most characters between a name behind a gap and its `>`.
const LONGEST_ATTRIBUTES: usize = 80;
/// The most bytes of a line before a tag in which a comment is recognised.
const LONGEST_COMMENT: usize = 400;
/// Lower-case types in the examples of prose: `Vec<string>`.
const TYPES: [&str; 14] = [
    "string", "bool", "boolean", "float", "double", "char", "void", "number", "object", "usize", "isize", "size_t",
    "byte", "long",
];

/// The tags of a text.
pub(super) struct Tags<'a> {
    text: &'a str,
    /// The next `>` at or behind this place; the text's length if there is none.
    end: usize,
    /// The names of closing tags, folded; found when first asked for.
    closed: Option<HashSet<String>>,
}

/// A tag as it is written.
struct Tag<'a> {
    /// The place of its bracket, and of what follows the name.
    at: usize,
    after: usize,
    name: &'a str,
    /// The name, folded.
    folded: Cow<'a, str>,
    is_closing: bool,
    /// Whether something invisible, blank or odd stands before the name.
    has_gap: bool,
}

impl<'a> Tags<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Tags { text, end: 0, closed: None }
    }

    /// Breaks the tag or token whose bracket is at `at`, on this ground.
    pub(super) fn change(&mut self, at: usize, bracket: char, ground: Ground) -> Option<Change> {
        let is_angle = bracket == '<';
        let inside = &self.text[at + bracket.len_utf8()..];
        if is_token(inside, ground) || (is_angle && is_of_llama(inside)) {
            return Some(if is_angle { Change::of('<', "&lt;") } else { Change::reference(bracket) });
        }
        let tag = tag(self.text, at, bracket)?;
        if !is_angle {
            let is_marker = is_wide_bracket(bracket)
                || names::is_known(&tag.folded)
                || names::is_word(&tag.folded)
                || is_compound(&tag) && names::is_commanding(&tag.folded);
            return is_marker.then(|| Change::reference(bracket));
        }
        let ground = match ground {
            Ground::Markup if self.is_in_comment(at) => Ground::Code,
            ground => ground,
        };
        if ground != Ground::Prose && self.is_short(&tag, ground) {
            return Some(Change { bytes: tag.after - at, by: format!("{} ", &self.text[at..tag.after]).into() });
        }
        self.is_marker(&tag, ground).then(|| Change::of('<', "&lt;"))
    }

    /// Whether this is a token that is also HTML or a type parameter, and nothing closes it. `</s>` is the only closing one.
    fn is_short(&mut self, tag: &Tag<'_>, ground: Ground) -> bool {
        let is_token = names::is_short(tag.name)
            && (!tag.is_closing || tag.name == "s")
            && !tag.has_gap
            && self.text[tag.after..].starts_with('>');
        is_token
            && (ground != Ground::Code
                || names::is_element(tag.name)
                || is_behind_word(self.text, tag)
                || !self.is_closed(tag.name))
    }

    fn is_marker(&mut self, tag: &Tag<'_>, ground: Ground) -> bool {
        let is_behind_word =
            is_behind_word(self.text, tag) || (ground != Ground::Prose && is_behind_call(self.text, tag));
        let is_camel = is_camel(tag.name);
        let is_word = names::is_word(&tag.folded);
        if is_behind_word && is_camel {
            return ground == Ground::Prose && (is_word || names::is_commanding(&names::parted(tag.name)));
        }
        if names::is_numbered(tag.name) || names::is_role(&tag.folded, &self.text[tag.after..]) {
            return true;
        }
        if names::is_known(&tag.folded) {
            return !tag.has_gap || tag.is_closing || self.ends_near(tag);
        }
        match ground {
            Ground::Prose => self.is_marker_in_prose(tag, is_behind_word, is_word),
            Ground::Code | Ground::Markup => {
                if is_word && !is_camel {
                    let is_argument = is_behind_word && names::is_type(tag.name);
                    let rest = self.text[tag.after..].trim_start();
                    let is_named = rest.starts_with('>') || names::is_of_role(rest) && self.ends_near(tag);
                    return !is_argument && (!tag.has_gap || tag.is_closing || is_named);
                }
                let is_code = names::is_element(&tag.folded) || (tag.has_gap && !tag.is_closing);
                !is_code && !is_behind_word && self.ends(tag) && self.is_marker_in_code(tag, ground, is_camel)
            }
        }
    }

    fn is_marker_in_prose(&mut self, tag: &Tag<'_>, is_behind_word: bool, is_word: bool) -> bool {
        if names::is_formatting(&tag.folded) || is_address(tag, self.text) {
            return false;
        }
        let is_type = tag.name.len() < 4 && !names::is_short(tag.name) || TYPES.contains(&tag.name);
        let is_argument = is_behind_word && is_type;
        !is_argument && (is_word || is_compound(tag) && names::is_commanding(&tag.folded) || self.ends(tag))
    }

    fn is_marker_in_code(&mut self, tag: &Tag<'_>, ground: Ground, is_camel: bool) -> bool {
        // `a <2-point arrow`
        let is_compound = is_compound(tag) && !is_camel && !tag.name.starts_with(|c: char| c.is_ascii_digit());
        match ground {
            _ if is_address(tag, self.text) => false,
            Ground::Markup => is_compound && names::is_commanding(&tag.folded),
            _ => tag.is_closing || is_compound || self.is_closed(&tag.folded),
        }
    }

    /// Whether a `>` follows.
    fn ends(&mut self, tag: &Tag<'_>) -> bool {
        if self.end < tag.after {
            let found = memchr(b'>', &self.text.as_bytes()[tag.after..]);
            self.end = found.map_or(self.text.len(), |found| tag.after + found);
        }
        self.end < self.text.len() && self.end - tag.after < LONGEST_TAG
    }

    /// Whether a `>` follows before anything of an expression: `i < tool_calls.len()` is a comparison.
    fn ends_near(&self, tag: &Tag<'_>) -> bool {
        let mut near = self.text[tag.after..].chars().take(LONGEST_ATTRIBUTES);
        near.find(|c| matches!(c, '>' | '(' | ')' | '{' | '}' | ';')) == Some('>')
    }

    /// Whether the text has a closing tag of this name.
    fn is_closed(&mut self, name: &str) -> bool {
        let text = self.text;
        let closed = self.closed.get_or_insert_with(|| {
            let places = memmem::find_iter(text.as_bytes(), b"</");
            let tags = places.filter_map(|at| tag(text, at, '<'));
            tags.map(|tag| tag.folded.into_owned()).collect()
        });
        closed.contains(name)
    }

    /// Whether a place is behind the sign of a comment on its line.
    fn is_in_comment(&self, at: usize) -> bool {
        let least = self.text.floor_char_boundary(at.saturating_sub(LONGEST_COMMENT));
        let before = &self.text[least..at];
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        let start = line.trim_start();
        start.starts_with(['*', '#', ';'])
            || ["//", "/*", "<!--", "{/*"].iter().any(|sign| start.starts_with(sign))
            || [" // ", " /* ", "<!--"].iter().any(|sign| line.contains(sign))
    }
}

/// Reads the tag whose bracket is at `at`.
fn tag(text: &str, at: usize, bracket: char) -> Option<Tag<'_>> {
    let inside = at + bracket.len_utf8();
    let (first_gap, behind) = gap(text, inside);
    // `<\/name>` of a script.
    let behind = behind + usize::from(text[behind..].starts_with("\\/"));
    let slash = text[behind..].chars().next().filter(|c| matches!(c, '/' | '／'));
    let (second_gap, start) = match slash {
        // `<//name>`
        Some(slash) => {
            let more =
                text[behind + slash.len_utf8()..].bytes().take(LONGEST_GAP).take_while(|byte| *byte == b'/').count();
            gap(text, behind + slash.len_utf8() + more)
        }
        None => (0, behind),
    };
    let is_name = |c: char| c.is_alphanumeric() || is_invisible(c) || matches!(c, '_' | '-' | ':' | '.' | '=' | '▁');
    let mut name = &text[start..];
    let length: usize = name.chars().take(LONGEST_NAME).take_while(|c| is_name(*c)).map(char::len_utf8).sum();
    name = &name[..length];
    // `function=` is a name; `class="x"` and `:` of a sentence are not.
    if let Some(equals) = name.find('=') {
        name = &name[..=equals];
    } else {
        name = name.trim_end_matches(['.', ':', '-']);
    }
    let first = name.chars().find(|c| !is_invisible(*c))?;
    let begins = first.is_alphanumeric() || first == '_';
    (begins && name.chars().any(char::is_alphabetic)).then(|| Tag {
        at,
        after: start + name.len(),
        folded: folded(name),
        name,
        is_closing: slash.is_some(),
        has_gap: first_gap + second_gap > 0,
    })
}

/// The blanks, invisible characters and signs at a place: their number, and the place behind them.
fn gap(text: &str, at: usize) -> (usize, usize) {
    let is_gap = |c: &char| {
        c.is_whitespace()
            || c.is_control()
            || is_invisible(*c)
            || matches!(c, '!' | '?' | '%' | '$' | '@' | '#' | '*' | '~' | '^' | '+' | '.' | '"' | '`')
    };
    let gap = text[at..].chars().take(LONGEST_GAP).take_while(is_gap);
    let (count, bytes) = gap.fold((0, 0), |(count, bytes), c| (count + 1, bytes + c.len_utf8()));
    (count, at + bytes)
}

/// Whether these are the insides of a token of models: `<|im_start|>`, `<|turn>`, `<turn|>`, and everything with a bar that
/// does not occur in code.
fn is_token(inside: &str, ground: Ground) -> bool {
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    let shown = inside.trim_start_matches(|c: char| is_invisible(c) || (ground == Ground::Prose && c.is_whitespace()));
    let Some(first) = shown.chars().next() else {
        return false;
    };
    let near = || shown.chars().take(LONGEST_NAME + 2);
    if is_bar(first) {
        if first != '|' {
            return true;
        }
        let mut rest = near().skip(1);
        let begins = rest.next().is_some_and(|c| {
            c.is_alphanumeric()
                || matches!(c, '_' | '"' | '/')
                || is_invisible(c)
                || (ground == Ground::Prose && c == ' ')
        });
        let end = rest.find(|c| matches!(c, '<' | '>' | '&') || (c.is_whitespace() && ground != Ground::Prose));
        return begins && end == Some('>');
    }
    if !(first.is_alphanumeric() || first == '_') {
        return false;
    }
    let mut behind = near().skip_while(|c| c.is_alphanumeric() || *c == '_' || is_invisible(*c));
    behind.next().is_some_and(is_bar) && behind.next() == Some('>')
}

/// `<<SYS>>`, `<</SYS>>`.
fn is_of_llama(inside: &str) -> bool {
    let name = inside.strip_prefix('<').map(|name| name.strip_prefix('/').unwrap_or(name));
    let Some(name) = name else { return false };
    let length = name.bytes().take(LONGEST_NAME).take_while(u8::is_ascii_uppercase).count();
    length > 1 && name[length..].starts_with(">>")
}

/// Whether a name has several parts: `tool_call`, `system-reminder`, `antml:invoke`; not `std::string`.
fn is_compound(tag: &Tag<'_>) -> bool {
    let name = tag.folded.trim_matches(['_', '-']);
    if name.contains("::") { name.contains('-') } else { name.contains(['-', '_', '▁', ':']) }
}

/// Whether a name is that of a type or a component: `T`, `UserId`, `std::Vec`.
fn is_camel(name: &str) -> bool {
    let last = name.rsplit([':', '.']).next().unwrap_or(name);
    let is_plain = last.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let has_lower = last.bytes().any(|byte| byte.is_ascii_lowercase());
    is_plain && last.starts_with(|c: char| c.is_ascii_uppercase()) && (has_lower || last.len() < 3)
}

/// Returns whether a tag is directly behind a word, so that it begins a type parameter: `vector<session>`,
/// `collect::<session>`.
fn is_behind_word(text: &str, tag: &Tag<'_>) -> bool {
    let before = &text[..tag.at];
    let last = before.chars().next_back();
    let is_word = last.is_some_and(|c| c.is_alphanumeric() || c == '_') || before.ends_with("::");
    is_word && !tag.is_closing && !tag.has_gap
}

/// Returns whether a tag belongs to the code before it: `#include <sys/types.h>`, `template <size_t N>`, `NAME(x)<y>`.
fn is_behind_call(text: &str, tag: &Tag<'_>) -> bool {
    const WORDS: [&str; 5] = ["include", "import", "include_next", "has_include", "template"];
    let before = text[..tag.at].trim_end_matches([' ', '\t']);
    !tag.is_closing
        && (before.ends_with([')', '$', '(']) && before.len() == tag.at
            || WORDS.iter().any(|word| before.ends_with(word)))
}

/// `<https://example.org>`, `<someone@example.org>`.
fn is_address(tag: &Tag<'_>, text: &str) -> bool {
    let rest = &text[tag.after..];
    let is_url = matches!(&*tag.folded, "http" | "https" | "ftp" | "file") && rest.starts_with("://");
    !tag.is_closing && (rest.starts_with('@') || is_url)
}
