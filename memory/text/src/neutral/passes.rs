use std::borrow::Cow;
use std::collections::HashMap;

use super::change::Ground;
use super::fences::Parts;
use super::tags::Tags;
use super::{brackets, characters, fold, labels};

/// Extensions of prose.
const PROSE: [&str; 10] = ["md", "markdown", "mdx", "mdc", "rst", "txt", "adoc", "org", "tex", "textile"];

/// Extensions of grammars with tags.
const MARKUP: [&str; 39] = [
    "html", "htm", "xhtml", "shtml", "xml", "svg", "xsl", "xslt", "xsd", "wsdl", "xaml", "plist", "rss", "csproj",
    "vbproj", "fsproj", "props", "targets", "resx", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue",
    "svelte", "astro", "php", "erb", "hbs", "ejs", "json", "twig", "cshtml", "razor", "jsp",
];

impl Ground {
    /// The kind of a file's text, by its name. A file without an extension is [`Ground::Code`], unless its name is that of a
    /// text for people.
    pub fn of_file(path: &str) -> Ground {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some((_, extension)) = name.rsplit_once('.') else {
            const TEXTS: [&str; 6] = ["README", "CHANGELOG", "LICENSE", "NOTICE", "AUTHORS", "CONTRIBUTING"];
            let is_text = TEXTS.iter().any(|text| name.eq_ignore_ascii_case(text));
            return if is_text { Ground::Prose } else { Ground::Code };
        };
        let is = |known: &&str| extension.eq_ignore_ascii_case(known);
        if PROSE.iter().any(is) {
            Ground::Prose
        } else if MARKUP.iter().any(is) {
            Ground::Markup
        } else {
            Ground::Code
        }
    }
}

/// Returns the text without markers of models and clients, control characters and invisible characters. Other text is
/// unchanged, and a second call changes nothing. Tags and brackets in fenced blocks of prose are those of code; labels are
/// those of prose.
pub fn neutralize(text: &str, ground: Ground) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut tags, mut parts) = (Tags::new(text), Parts::of(text, ground));
    let (mut neutral, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(ahead) = bytes[at..].iter().position(|byte| INTERESTING[usize::from(*byte)]) {
        at += ahead;
        let before = if at == copied { neutral.chars().next_back() } else { text[..at].chars().next_back() };
        let change = match bytes[at] {
            b'<' => tags.change(at, '<', parts.at(at)),
            b'[' | b']' => brackets::change(text, at, parts.at(at)),
            b':' => labels::change(text, at, ':', ground),
            b'#' => labels::heading(text, at, ground),
            ..0x80 => characters::control(text, at),
            _ => {
                // The byte begins a character: the others of one are skipped below.
                let character = text[at..].chars().next().unwrap_or_default();
                let change = match character {
                    _ if fold::is_bracket(character) => tags.change(at, character, parts.at(at)),
                    '：' | '﹕' | '︓' | '∶' | '꞉' | 'ː' => labels::change(text, at, character, ground),
                    '［' | '【' | '〔' | '〖' | '⟦' => brackets::change_wide(text, at, character),
                    _ => characters::change(character, before),
                };
                if change.is_none() {
                    at += character.len_utf8();
                    continue;
                }
                change
            }
        };
        let Some(change) = change else {
            at += 1;
            continue;
        };
        neutral.push_str(&text[copied..at]);
        neutral.push_str(&change.by);
        at += change.bytes;
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    neutral.push_str(&text[copied..]);
    Cow::Owned(neutral)
}

/// Takes the changes of [`neutralize`] back in a text that was made from `shown`, the neutralised `original`: a line that is
/// still as it was shown becomes the original line. So an agent that reads a page and writes it back damages nothing.
pub fn restore<'a>(changed: &'a str, original: &str, ground: Ground) -> Cow<'a, str> {
    let Cow::Owned(shown) = neutralize(original, ground) else {
        return Cow::Borrowed(changed);
    };
    let lines = shown.split('\n').zip(original.split('\n'));
    let lines: HashMap<&str, &str> = lines.filter(|(shown, original)| shown != original).collect();
    let original = |line| lines.get(line).copied().unwrap_or(line);
    changed.split('\n').map(original).collect::<Vec<_>>().join("\n").into()
}

/// The bytes at which a marker can begin.
static INTERESTING: [bool; 256] = interesting();

const fn interesting() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8, b'<' | b'[' | b']' | b':' | b'#' | ..b'\t' | 0x0b..b' ' | 0x7f..);
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests;
