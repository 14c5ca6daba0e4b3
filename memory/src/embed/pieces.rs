//! From text to word pieces: BERT's WordPiece over a small vocabulary of plain letters and digits.
//!
//! Written here rather than taken from the `tokenizers` crate because that one builds maps of strings for tens of
//! milliseconds when it loads; here the vocabulary stays the bytes of the shipped file, with one table of places over it.
//! A test holds it against that crate, text by text.
//!
//! Names are cut where their case changes, before anything is lowercased: `parseHTTPHeader` is `parse`, `HTTP`, `Header`.
//! Then as BERT does: controls go, accents go, blanks and punctuation end a word, and a word is eaten from the left by the
//! longest piece that fits. A word that cannot be eaten whole is unknown and left out, as is punctuation.

use unicode_categories::UnicodeCategories;
use unicode_normalization::char::decompose_canonical;

use super::LoadError;

/// A longer word is unknown. Keys, hashes and encoded data are; a name of that length, cut at its cases, is not.
const LONGEST_WORD: usize = 64;

/// Where a search begins: pieces that begin a word, and pieces that continue one, are different pieces.
const SEEDS: [u32; 2] = [0x811c_9dc5, 0x7b5a_2f11];

/// The pieces, numbered as in the file.
pub(super) struct Vocabulary {
    /// The pieces' letters, one after another.
    letters: Vec<u8>,
    /// Where each piece's letters begin; one more at the end.
    starts: Vec<u32>,
    /// Which pieces continue a word.
    continues: Vec<bool>,
    /// An open-addressing table over hashes of pieces: a piece's number plus one, or zero where nothing is.
    table: Vec<u16>,
    /// The longest piece.
    longest: usize,
}

impl Vocabulary {
    /// Takes pieces as `##ing` or `pars`.
    ///
    /// # Errors
    /// [`LoadError::Unusable`] for more pieces than 16 bits can number, an empty one, or one that stands there twice.
    pub(super) fn new<'a>(pieces: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Vocabulary, LoadError> {
        let unusable = |reason: String| LoadError::Unusable {
            what: "the vocabulary".to_owned(),
            reason,
        };
        if pieces.len() >= usize::from(u16::MAX) {
            return Err(unusable(format!("{} pieces", pieces.len())));
        }
        let mut made = Vocabulary {
            letters: Vec::with_capacity(pieces.len() * 8),
            starts: Vec::with_capacity(pieces.len() + 1),
            continues: Vec::with_capacity(pieces.len()),
            // At most half full, so that a search for what is not there ends soon.
            table: vec![0; (pieces.len() * 2 + 2).next_power_of_two()],
            longest: 0,
        };
        made.starts.push(0);
        for piece in pieces {
            let (letters, continues) = match piece.strip_prefix(b"##") {
                Some(rest) if !rest.is_empty() => (rest, true),
                _ => (piece, false),
            };
            let hash = letters.iter().fold(SEEDS[usize::from(continues)], step);
            if letters.is_empty() || made.find(letters, continues, hash).is_some() {
                let shown = String::from_utf8_lossy(piece);
                return Err(unusable(format!("the piece `{shown}` is empty or there twice")));
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
        Ok(made)
    }

    /// Appends the numbers of a text's pieces, in their order, until `most` are there.
    pub(super) fn pieces(&self, text: &str, most: usize, found: &mut Vec<u16>) {
        let mut word = Word::default();
        let bytes = text.as_bytes();
        for (at, character) in text.char_indices() {
            if found.len() >= most {
                return found.truncate(most);
            }
            if case_changes(bytes, at) {
                self.end(&mut word, found);
            }
            match class(character) {
                Class::Letter(letter) => word.push(letter),
                Class::Nothing => {}
                Class::End => self.end(&mut word, found),
                Class::Foreign => decompose_canonical(character, |part| match class(part) {
                    Class::Letter(letter) => word.push(letter),
                    Class::Nothing => {}
                    Class::End => self.end(&mut word, found),
                    Class::Foreign => word.push_lowercase(part),
                }),
            }
        }
        self.end(&mut word, found);
        found.truncate(most);
    }

    /// Cuts a finished word into pieces, and begins the next.
    fn end(&self, word: &mut Word, found: &mut Vec<u16>) {
        let before = found.len();
        let mut rest = word.letters.get(..word.length).filter(|_| !word.unknown).unwrap_or(&[]);
        let mut continues = false;
        while !rest.is_empty() {
            let Some((number, length)) = self.longest_piece(rest, continues) else {
                found.truncate(before);
                break;
            };
            found.push(number);
            rest = &rest[length..];
            continues = true;
        }
        *word = Word::default();
    }

    /// The longest piece with which some letters begin, and its length.
    fn longest_piece(&self, letters: &[u8], continues: bool) -> Option<(u16, usize)> {
        let letters = &letters[..letters.len().min(self.longest)];
        let mut hashes = [0; LONGEST_WORD];
        let mut hash = SEEDS[usize::from(continues)];
        for (kept, letter) in hashes.iter_mut().zip(letters) {
            hash = step(hash, letter);
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

    /// The first place of a hash. Its upper bits are the better mixed ones.
    fn slot(&self, hash: u32) -> usize {
        (hash.wrapping_mul(0x9e37_79b1) >> 8) as usize & (self.table.len() - 1)
    }

    /// How many pieces there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.continues.len()
    }
}

/// FNV-1a, because the hash of each beginning of a word falls out on the way to that of the whole.
fn step(hash: u32, letter: &u8) -> u32 {
    (hash ^ u32::from(*letter)).wrapping_mul(0x0100_0193)
}

/// A word in the making.
struct Word {
    letters: [u8; LONGEST_WORD],
    length: usize,
    /// It holds something that no piece holds, or too much.
    unknown: bool,
}

impl Default for Word {
    fn default() -> Word {
        Word {
            letters: [0; LONGEST_WORD],
            length: 0,
            unknown: false,
        }
    }
}

impl Word {
    fn push(&mut self, letter: u8) {
        match self.letters.get_mut(self.length) {
            Some(place) => {
                *place = letter;
                self.length += 1;
            }
            None => self.unknown = true,
        }
    }

    /// Few characters outside ASCII have a lowercase inside it; all others make the word unknown.
    fn push_lowercase(&mut self, character: char) {
        for lower in character.to_lowercase() {
            match u8::try_from(lower) {
                Ok(letter) if letter.is_ascii_alphanumeric() => self.push(letter),
                _ => self.unknown = true,
            }
        }
    }
}

/// What a character does to the word that it stands in.
enum Class {
    /// Belongs to it, in lowercase.
    Letter(u8),
    /// Is as if it were not there: controls, and the accents that decomposing sets free.
    Nothing,
    /// Ends it: blanks, punctuation, and characters of which each is a word.
    End,
    /// Is none of ASCII's.
    Foreign,
}

fn class(character: char) -> Class {
    match character {
        'a'..='z' | '0'..='9' => Class::Letter(character as u8),
        'A'..='Z' => Class::Letter(character.to_ascii_lowercase() as u8),
        '\t' | '\n' | '\r' | ' ' => Class::End,
        _ if character.is_ascii_punctuation() => Class::End,
        _ if character.is_ascii() || character == '\u{fffd}' => Class::Nothing,
        _ if character.is_other() || character.is_mark_nonspacing() => Class::Nothing,
        _ if character.is_whitespace() || character.is_punctuation() || is_chinese(character) => Class::End,
        _ => Class::Foreign,
    }
}

/// The blocks around each character of which BERT sets blanks.
fn is_chinese(character: char) -> bool {
    matches!(
        u32::from(character),
        0x4e00..=0x9fff | 0x3400..=0x4dbf | 0x20000..=0x2a6df | 0x2a700..=0x2b73f | 0x2b740..=0x2b81f
            | 0x2b920..=0x2ceaf | 0xf900..=0xfaff | 0x2f800..=0x2fa1f
    )
}

/// Whether a new part of a name begins here: `a|B`, `1|B`, and the last capital of `AB|Cde`. Two small letters have to
/// follow, or the plural in `URLs` would make a part of its own.
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
