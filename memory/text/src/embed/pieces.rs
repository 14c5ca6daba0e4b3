//! Splits text into word pieces: BERT's WordPiece.
//!
//! The `tokenizers` crate is not used, because it builds maps of strings when it loads, which takes tens of
//! milliseconds. Here the vocabulary consists of letters and one hash table. A test compares
//! the results with those of `tokenizers`, text by text.
//!
//! Control characters and accents are removed, letters become lowercase, white space ends a word, a mark of punctuation
//! or a Chinese character is a word by itself, and a word is split from the left into the longest matching pieces. A word
//! that cannot be split completely is unknown.
//!
//! The small vocabulary of static vectors has no piece for unknown words. With it, only words of ASCII letters and digits
//! are kept, and names are split where their case changes: `parseHTTPHeader` becomes `parse`, `HTTP`, `Header`.

use unicode_categories::UnicodeCategories;
use unicode_normalization::char::decompose_canonical;

use super::LoadError;
use crate::fnv;

/// Maximum number of characters of a word; longer words are unknown. Keys, hashes and encoded data are longer. Names are
/// shorter, because they are split at their case changes.
const LONGEST_WORD: usize = 64;

/// [`LONGEST_WORD`] of BERT, which does not split names.
const LONGEST_WORD_OF_BERT: usize = 100;

/// Maximum length of a piece in bytes.
const LONGEST_PIECE: usize = 64;

/// The piece for unknown words.
pub(super) const UNKNOWN: &str = "[UNK]";

/// Initial hash values. The hash of a word contains the hashes of all its prefixes. The values differ, because a piece that begins a word and a piece that continues a word are different
/// pieces.
const SEEDS: [u32; 2] = [fnv::SEED, 0x7b5a_2f11];

/// The pieces, numbered as in the file.
pub(super) struct Vocabulary {
    /// The letters of all pieces, concatenated.
    letters: Vec<u8>,
    /// The offset of each piece in `letters`, and the end of the last piece.
    starts: Vec<u32>,
    /// Whether each piece continues a word.
    continues: Vec<bool>,
    /// An open-addressing hash table of the pieces: a piece's number plus one, or zero for an empty slot.
    table: Vec<u16>,
    /// The length of the longest piece.
    longest: usize,
    /// The piece for unknown words. Without one, they are dropped, as is punctuation.
    unknown: Option<u16>,
}

impl Vocabulary {
    /// Creates a vocabulary from pieces such as `##ing` or `pars`, one of which may be [`UNKNOWN`].
    ///
    /// # Errors
    /// [`LoadError::Unusable`] if there are more pieces than 16 bits can number, or if a piece is empty, repeated or too
    /// long.
    pub(super) fn new<'a>(pieces: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Vocabulary, LoadError> {
        let unusable = |reason: String| LoadError::Unusable { what: "the vocabulary".to_owned(), reason };
        if pieces.len() >= usize::from(u16::MAX) {
            return Err(unusable(format!("{} pieces", pieces.len())));
        }
        let mut made = Vocabulary {
            letters: Vec::with_capacity(pieces.len() * 8),
            starts: Vec::with_capacity(pieces.len() + 1),
            continues: Vec::with_capacity(pieces.len()),
            // The table is at most half full, so that the search for an unknown piece ends soon.
            table: vec![0; (pieces.len() * 2 + 2).next_power_of_two()],
            longest: 0,
            unknown: None,
        };
        made.starts.push(0);
        for piece in pieces {
            let (letters, continues) = match piece.strip_prefix(b"##") {
                Some(rest) if !rest.is_empty() => (rest, true),
                _ => (piece, false),
            };
            let hash = letters.iter().fold(SEEDS[usize::from(continues)], |hash, letter| fnv::step(hash, *letter));
            let is_sized = (1..=LONGEST_PIECE).contains(&letters.len());
            if !is_sized || made.find(letters, continues, hash).is_some() {
                let shown = String::from_utf8_lossy(piece);
                return Err(unusable(format!("the piece `{shown}` is empty, too long or there twice")));
            }
            made.letters.extend_from_slice(letters);
            made.starts.push(u32::try_from(made.letters.len()).unwrap_or(u32::MAX));
            made.continues.push(continues);
            made.longest = made.longest.max(letters.len());
            let number = made.continues.len() as u16;
            let mut at = made.slot(hash);
            while made.table[at] != 0 {
                at = (at + 1) & (made.table.len() - 1);
            }
            made.table[at] = number;
        }
        made.unknown = made.special(UNKNOWN);
        Ok(made)
    }

    /// Returns the number of a piece that no text contains, such as [`UNKNOWN`].
    pub(super) fn special(&self, name: &str) -> Option<u16> {
        let hash = name.bytes().fold(SEEDS[0], fnv::step);
        self.find(name.as_bytes(), false, hash)
    }

    /// Appends the numbers of a text's pieces, in order, until `found` has `most` numbers.
    pub(super) fn pieces(&self, text: &str, most: usize, found: &mut Vec<u16>) {
        let mut word = Word::default();
        let bytes = text.as_bytes();
        for (at, character) in text.char_indices() {
            if found.len() >= most {
                return found.truncate(most);
            }
            if self.unknown.is_none() && case_changes(bytes, at) {
                self.end(&mut word, found);
            }
            match class(character) {
                Class::Alone | Class::Foreign => {
                    decompose_canonical(character, |part| self.take(part, class(part), &mut word, found));
                }
                class => self.take(character, class, &mut word, found),
            }
        }
        self.end(&mut word, found);
        found.truncate(most);
    }

    /// Reads a decomposed character.
    fn take(&self, character: char, class: Class, word: &mut Word, found: &mut Vec<u16>) {
        match class {
            Class::Letter(letter) => word.push(char::from(letter)),
            Class::Nothing => {}
            Class::Space => self.end(word, found),
            Class::Alone => {
                self.end(word, found);
                if self.unknown.is_some() {
                    word.push(character);
                    self.end(word, found);
                }
            }
            // Without a piece for unknown words, no piece has letters outside ASCII.
            Class::Foreign => character.to_lowercase().for_each(|lower| word.push(lower)),
        }
    }

    /// Splits a finished word into pieces, and starts the next word.
    fn end(&self, word: &mut Word, found: &mut Vec<u16>) {
        let before = found.len();
        let longest = if self.unknown.is_some() { LONGEST_WORD_OF_BERT } else { LONGEST_WORD };
        let mut is_whole = word.characters <= longest;
        let mut rest = if is_whole { &*word.letters } else { &[] };
        let mut continues = false;
        while !rest.is_empty() {
            let Some((number, length)) = self.longest_piece(rest, continues) else {
                is_whole = false;
                break;
            };
            found.push(number);
            rest = &rest[length..];
            continues = true;
        }
        if !is_whole {
            found.truncate(before);
            found.extend(self.unknown);
        }
        word.letters.clear();
        word.characters = 0;
    }

    /// Returns the longest piece that is a prefix of `letters`, and its length.
    fn longest_piece(&self, letters: &[u8], continues: bool) -> Option<(u16, usize)> {
        let letters = &letters[..letters.len().min(self.longest)];
        let mut hashes = [0; LONGEST_PIECE];
        let mut hash = SEEDS[usize::from(continues)];
        for (kept, letter) in hashes.iter_mut().zip(letters) {
            hash = fnv::step(hash, *letter);
            *kept = hash;
        }
        (1..=letters.len())
            .rev()
            .find_map(|length| Some((self.find(&letters[..length], continues, hashes[length - 1])?, length)))
    }

    fn find(&self, letters: &[u8], continues: bool, hash: u32) -> Option<u16> {
        let mut at = self.slot(hash);
        while let Some(number) = self.table[at].checked_sub(1) {
            let place = usize::from(number);
            let (start, end) = (self.starts[place] as usize, self.starts[place + 1] as usize);
            if self.continues[place] == continues && &self.letters[start..end] == letters {
                return Some(number);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        None
    }

    /// Returns the first slot of a hash. The upper bits are used, because they are better mixed.
    fn slot(&self, hash: u32) -> usize {
        (hash.wrapping_mul(0x9e37_79b1) >> 8) as usize & (self.table.len() - 1)
    }

    /// Returns the number of pieces.
    pub(super) fn len(&self) -> usize {
        self.continues.len()
    }
}

/// The word that is being read, in lowercase.
#[derive(Default)]
struct Word {
    letters: Vec<u8>,
    characters: usize,
}

impl Word {
    /// Adds a character. The rest of a word that is too long is not kept.
    fn push(&mut self, character: char) {
        self.characters += 1;
        if self.characters <= LONGEST_WORD_OF_BERT {
            self.letters.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// The effect of a character on its word.
enum Class {
    /// An ASCII letter or digit, in lowercase. It is added to the word.
    Letter(u8),
    /// A control character, or a combining accent after decomposition. It is ignored.
    Nothing,
    /// White space. It ends the word.
    Space,
    /// A mark of punctuation or a Chinese character, which is a word by itself.
    Alone,
    /// A letter outside ASCII.
    Foreign,
}

fn class(character: char) -> Class {
    match character {
        'a'..='z' | '0'..='9' => Class::Letter(character as u8),
        'A'..='Z' => Class::Letter(character.to_ascii_lowercase() as u8),
        '\t' | '\n' | '\r' | ' ' => Class::Space,
        _ if character.is_ascii_punctuation() => Class::Alone,
        _ if character.is_ascii() || character == '\u{fffd}' => Class::Nothing,
        _ if character.is_other() || character.is_mark_nonspacing() => Class::Nothing,
        _ if character.is_whitespace() => Class::Space,
        _ if character.is_punctuation() || is_chinese(character) => Class::Alone,
        _ => Class::Foreign,
    }
}

/// The Unicode blocks around whose characters BERT inserts spaces.
fn is_chinese(character: char) -> bool {
    matches!(
        u32::from(character),
        0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x20000..=0x2a6df | 0x2a700..=0x2b73f | 0x2b740..=0x2b81f
            | 0x2b920..=0x2ceaf | 0xf900..=0xfaff | 0x2f800..=0x2fa1f
    )
}

/// Returns whether a new part of a name begins here: `a|B`, `1|B`, and the last capital of `AB|Cde`. Two lowercase
/// letters must follow that capital; otherwise the plural in `URLs` would be a separate part.
fn case_changes(bytes: &[u8], at: usize) -> bool {
    let (Some(before), Some(here)) = (at.checked_sub(1).and_then(|before| bytes.get(before)), bytes.get(at)) else {
        return false;
    };
    if !here.is_ascii_uppercase() {
        return false;
    }
    let small = |offset: usize| bytes.get(at + offset).is_some_and(u8::is_ascii_lowercase);
    before.is_ascii_lowercase() || before.is_ascii_digit() || before.is_ascii_uppercase() && small(1) && small(2)
}

#[cfg(test)]
mod tests;
