//! Fenced blocks of code in prose.

use super::Ground;

/// The grounds of a text, part by part.
pub(super) struct Parts {
    /// Where each part begins, and its ground. The first one begins the text.
    parts: Vec<(usize, Ground)>,
    /// The part that was asked for last.
    current: usize,
}

/// The fence that began a block.
struct Fence {
    sign: char,
    length: usize,
}

impl Parts {
    /// The parts of a text. Only prose has blocks of another ground; the lines of fences are prose.
    pub(super) fn of(text: &str, ground: Ground) -> Parts {
        let mut parts = vec![(0, ground)];
        if ground == Ground::Prose && (text.contains("```") || text.contains("~~~")) {
            let mut open: Option<Fence> = None;
            let mut at = 0;
            for line in text.split_inclusive('\n') {
                match (&open, fence(line)) {
                    (None, Some((fence, language))) => {
                        open = Some(fence);
                        parts.push((at + line.len(), language));
                    }
                    (Some(begun), Some((end, _))) if end.sign == begun.sign && end.length >= begun.length => {
                        open = None;
                        parts.push((at, Ground::Prose));
                    }
                    _ => {}
                }
                at += line.len();
            }
        }
        Parts { parts, current: 0 }
    }

    /// The ground at a place, which is not before the place that was asked for last.
    pub(super) fn at(&mut self, place: usize) -> Ground {
        while self.parts.get(self.current + 1).is_some_and(|next| next.0 <= place) {
            self.current += 1;
        }
        self.parts[self.current].1
    }
}

/// The fence of a line, in a quotation or a list too, and the ground of its block.
fn fence(line: &str) -> Option<(Fence, Ground)> {
    let start = line.trim_start_matches([' ', '\t', '>', '-', '*', '+']);
    let sign = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = start.trim_start_matches(sign);
    let length = start.len() - info.len();
    let language = info.split_whitespace().next().unwrap_or_default();
    (length > 2 && !language.contains('`')).then(|| (Fence { sign, length }, Ground::of_file(&format!(".{language}"))))
}
