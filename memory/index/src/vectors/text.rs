//! The part of a chunk that is embedded.

use std::ops::RangeInclusive;

/// Maximum number of bytes that are read of a chunk's beginning: its comment, its head and the next lines. The rest of
/// a chunk adds little information.
const MAX_BYTES: usize = 512;
/// Increased whenever the text of a chunk changes, so that vectors of an older text are not found.
pub(super) const VERSION: &str = "text.1";

/// Returns the text of the chunk with these lines, counted from 1.
pub(super) fn of_chunk(lines: &[&str], chunk: RangeInclusive<u32>) -> String {
    let range = (*chunk.start() as usize).saturating_sub(1)..*chunk.end() as usize;
    let mut text = String::with_capacity(MAX_BYTES);
    for line in lines.get(range).unwrap_or_default() {
        let room = MAX_BYTES - text.len();
        text.push_str(&line[..line.floor_char_boundary(room)]);
        if text.len() == MAX_BYTES || line.len() >= room {
            break;
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_chunk_is_its_text() {
        let lines = ["one", "two é", "three"];
        assert_eq!(of_chunk(&lines, 2..=3), "two é\nthree\n");
        assert_eq!(of_chunk(&lines, 3..=9), "", "lines beyond the end of the text");
        let long = ["x".repeat(MAX_BYTES - 1), "é".to_owned()];
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        assert_eq!(of_chunk(&long, 1..=2).len(), MAX_BYTES);
        let cut = format!("{}é", "x".repeat(MAX_BYTES - 1));
        assert_eq!(of_chunk(&[&cut], 1..=1).len(), MAX_BYTES - 1, "the text must end between two characters");
    }
}
