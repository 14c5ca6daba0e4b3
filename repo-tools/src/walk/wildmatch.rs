//! Git's wildcard patterns, matched in bounded time.
//!
//! The rules are those of git's `wildmatch.c` for paths: `*` and `?` do not match a slash, `**` between slashes does, and
//! `[...]` knows POSIX classes. Git's own algorithm is recursive and takes exponential time for some patterns with several
//! `**/`. This one returns to the newest `*` and the newest `**` only, which is enough: an earlier one that takes more of
//! the text leaves less for the rest.

/// The work after which a pattern is given up, and nothing matches. Only a hostile file needs a thousandth.
pub(super) const MAX_WORK: u64 = 10_000_000;

/// Matches a whole text. `work` grows by the number of steps; from [`MAX_WORK`] on, nothing matches.
pub(super) fn matches(pattern: &[u8], text: &[u8], work: &mut u64) -> bool {
    let (mut at, mut pos) = (0, 0);
    let mut star: Option<Wildcard> = None;
    let mut deep: Option<Wildcard> = None;
    while *work < MAX_WORK {
        *work += 1;
        match step(pattern, at, text, pos, work) {
            Step::Forward { pattern: next } => (at, pos) = (next, pos + 1),
            Step::Wildcard(crosses, next) => {
                let wildcard = Wildcard { crosses, next, text: pos };
                if crosses == Crosses::Nothing {
                    star = Some(wildcard);
                } else {
                    (star, deep) = (None, Some(wildcard));
                }
                at = next;
            }
            Step::Matched => return true,
            Step::Malformed => return false,
            Step::Mismatch => {
                star = star.and_then(|star| star.longer(pattern, text, work));
                if star.is_none() {
                    deep = deep.and_then(|deep| deep.longer(pattern, text, work));
                }
                let Some(wildcard) = star.or(deep) else {
                    return false;
                };
                (at, pos) = (wildcard.next, wildcard.text);
            }
        }
    }
    false
}

/// A wildcard of any length that was passed.
#[derive(Clone, Copy)]
struct Wildcard {
    crosses: Crosses,
    /// The pattern behind it.
    next: usize,
    /// The end of the text that it takes.
    text: usize,
}

/// The part of a path that a wildcard matches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crosses {
    /// A `*`: a part of a name.
    Nothing,
    /// A `**`: everything.
    Slashes,
    /// A `**/`: whole directories, or none.
    Directories,
}

impl Wildcard {
    /// Takes more of the text, up to the next place where the rest of the pattern can match.
    fn longer(self, pattern: &[u8], text: &[u8], work: &mut u64) -> Option<Self> {
        let rest = text.get(self.text..)?;
        let literal = pattern.get(self.next).filter(|byte| !is_special(byte));
        let more = match (self.crosses, literal) {
            (Crosses::Directories, _) => memchr::memchr(b'/', rest)? + 1,
            // The byte at the end of what it took does not lead to a match.
            (Crosses::Slashes, Some(literal)) => memchr::memchr(*literal, rest.get(1..)?)? + 1,
            (Crosses::Slashes, None) => 1,
            (Crosses::Nothing, _) if rest.first().is_none_or(|byte| *byte == b'/') => return None,
            (Crosses::Nothing, Some(literal)) => memchr::memchr2(*literal, b'/', &rest[1..])? + 1,
            (Crosses::Nothing, None) => 1,
        };
        *work += more as u64 / 16;
        Some(Self { text: self.text + more, ..self })
    }
}

/// Whether a byte of a pattern may stand for others than itself.
pub(super) fn is_special(byte: &u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

enum Step {
    /// One byte of the text matches.
    Forward {
        pattern: usize,
    },
    /// A wildcard of any length, and the pattern behind it.
    Wildcard(Crosses, usize),
    Mismatch,
    /// The pattern matches nothing, whatever the text is.
    Malformed,
    Matched,
}

fn step(pattern: &[u8], at: usize, text: &[u8], pos: usize, work: &mut u64) -> Step {
    let byte = text.get(pos).copied();
    let forward_if = |is_match: bool, next: usize| {
        if is_match { Step::Forward { pattern: next } } else { Step::Mismatch }
    };
    match pattern.get(at) {
        None if byte.is_none() => Step::Matched,
        None => Step::Mismatch,
        Some(b'*') => stars(pattern, at),
        Some(b'?') => forward_if(byte.is_some_and(|byte| byte != b'/'), at + 1),
        Some(b'\\') => match pattern.get(at + 1) {
            Some(literal) => forward_if(byte == Some(*literal), at + 2),
            None => Step::Malformed,
        },
        Some(b'[') => match class(pattern, at + 1, byte.unwrap_or(0)) {
            None => {
                *work += (pattern.len() - at) as u64;
                Step::Malformed
            }
            Some((is_member, end)) => {
                *work += (end - at) as u64;
                forward_if(is_member && byte.is_some_and(|byte| byte != b'/'), end)
            }
        },
        Some(literal) => forward_if(byte == Some(*literal), at + 1),
    }
}

fn stars(pattern: &[u8], at: usize) -> Step {
    let end = pattern[at..].iter().position(|byte| *byte != b'*');
    let end = end.map_or(pattern.len(), |len| at + len);
    let starts_part = at == 0 || pattern[at - 1] == b'/';
    let rest = &pattern[end..];
    if end - at < 2 || !starts_part {
        Step::Wildcard(Crosses::Nothing, end)
    } else if rest.starts_with(b"/") {
        Step::Wildcard(Crosses::Directories, end + 1)
    } else if rest.is_empty() || rest.starts_with(b"\\/") {
        Step::Wildcard(Crosses::Slashes, end)
    } else {
        Step::Wildcard(Crosses::Nothing, end)
    }
}

/// Returns whether a byte belongs to the class that starts after a `[`, and the end of the class behind its `]`; `None`
/// if the class is malformed.
fn class(pattern: &[u8], start: usize, byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(start)?, b'!' | b'^');
    let mut at = start + usize::from(negated);
    let (mut is_member, mut before) = (false, 0);
    loop {
        let mut current = *pattern.get(at)?;
        match current {
            b'\\' => {
                at += 1;
                current = *pattern.get(at)?;
                is_member |= byte == current;
            }
            b'-' if before != 0 && pattern.get(at + 1).is_some_and(|next| *next != b']') => {
                at += 1;
                if pattern[at] == b'\\' {
                    at += 1;
                }
                is_member |= (before..=*pattern.get(at)?).contains(&byte);
                current = 0;
            }
            b'[' if pattern.get(at + 1) == Some(&b':') => {
                let name = &pattern[at + 2..];
                let name = &name[..memchr::memchr(b']', name)?];
                match name.strip_suffix(b":") {
                    Some(name) => {
                        is_member |= is_in(name, byte)?;
                        at += name.len() + 3;
                        current = 0;
                    }
                    None => is_member |= byte == b'[',
                }
            }
            literal => is_member |= byte == literal,
        }
        before = current;
        at += 1;
        if *pattern.get(at)? == b']' {
            return Some((is_member != negated, at + 1));
        }
    }
}

fn is_in(name: &[u8], byte: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => matches!(byte, b' '..=b'~'),
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}
