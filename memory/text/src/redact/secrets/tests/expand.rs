//! Expands written cases with deterministic random characters.

/// A line of a file of cases.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) kind: &'a str,
    written: &'a str,
    /// The line's number, so that two cases differ.
    place: u64,
}

pub(super) struct Sample {
    pub(super) text: String,
    /// The expected result.
    pub(super) expected: String,
}

pub(super) fn cases(file: &str) -> Vec<Case<'_>> {
    let lines = (0..).zip(file.lines());
    lines
        .filter(|(_, line)| !line.starts_with('#') && !line.is_empty())
        .map(|(place, line)| {
            let (kind, written) = line.split_once(' ').unwrap();
            Case { kind, written, place }
        })
        .collect()
}

impl Case<'_> {
    pub(super) fn sample(&self, draw: u64) -> Sample {
        let mut random = Random((self.place << 32 | draw).wrapping_mul(0xd6e8_feb8_6659_fd93));
        let filled = filled(&self.written.replace('⏎', "\n"), &mut random);
        let mut expected = String::new();
        let mut rest = filled.as_str();
        while let Some((before, after)) = rest.split_once('«') {
            let (secret, after) = after.split_once('»').unwrap();
            expected.push_str(before);
            expected.push_str(&format!("[redacted:{}]", self.kind));
            expected.push_str(&"\n".repeat(secret.matches('\n').count()));
            rest = after;
        }
        expected.push_str(rest);
        Sample { text: filled.replace(['«', '»'], ""), expected }
    }
}

/// The text with each `{class:count}` replaced by random characters.
fn filled(written: &str, random: &mut Random) -> String {
    let mut text = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let sample = after.split_once('}').and_then(|(inside, after)| {
            let (class, count) = inside.split_once(':')?;
            Some((alphabet(class)?, count.parse::<usize>().ok()?, after))
        });
        let Some((alphabet, count, after)) = sample else {
            text.push('{');
            rest = after;
            continue;
        };
        text.extend((0..count).map(|_| char::from(alphabet[random.below(alphabet.len())])));
        rest = after;
    }
    text.push_str(rest);
    text
}

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn alphabet(class: &str) -> Option<&'static [u8]> {
    Some(match class {
        "alnum" => &ALPHABET[..62],
        "letters" => &ALPHABET[..52],
        "b64" => ALPHABET,
        "b64u" => URL_ALPHABET,
        "digit" => b"0123456789",
        "hex" => b"0123456789abcdef",
        "HEX" => b"0123456789ABCDEF",
        "low36" => b"abcdefghijklmnopqrstuvwxyz0123456789",
        "UPPER" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "BASE32" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "bech32" => b"qpzry9x8gf2tvdw0s3jn54khce6mua7l",
        "BECH32" => b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        _ => return None,
    })
}

/// The generator splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}
