//! The answer to a request that is learned from, kept beside the stream.
//!
//! The door copies the bytes that the client gets, and nothing more: the text is read from them when the conversation ends,
//! on the thread that learns. Most answers are never read, because the next request repeats them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use muninn_session::without_packs;
use muninn_wire::WireFormat;
use muninn_wire::convert::{streamed_text, whole_text};

use super::MOST_BYTES;

/// The most bytes of one answer, about 5,000 events with a token each. Of a longer stream the end is kept, because the
/// answer follows the thinking; a longer whole answer is not learned from.
const MOST_OF_ONE: usize = 1 << 20;
/// The bytes after which a new piece begins. A long stream loses whole pieces at its beginning.
const PIECE: usize = 64 << 10;

/// The answer to one request, shared by the learner and the answer's body.
#[derive(Default)]
pub struct ObservedAnswer {
    /// Set once the learner has taken the request.
    is_wanted: AtomicBool,
    ended: OnceLock<(Instant, RecordedBytes)>,
    /// The bytes of all answers of the process.
    held: Arc<AtomicUsize>,
}

/// Copies the bytes of an answer, if the learner wants them, until it is dropped.
pub struct AnswerRecorder {
    answer: Arc<ObservedAnswer>,
    recorded: RecordedBytes,
}

/// The end of an answer's bytes, as the client got them.
struct RecordedBytes {
    pieces: VecDeque<Vec<u8>>,
    length: usize,
    is_stream: bool,
    /// Whether bytes are missing that the text cannot be read without.
    is_torn: bool,
    held: Arc<AtomicUsize>,
}

impl ObservedAnswer {
    /// `held`: the bytes of all answers of the process.
    pub(super) fn new(held: &Arc<AtomicUsize>) -> Arc<ObservedAnswer> {
        Arc::new(ObservedAnswer { held: Arc::clone(held), ..ObservedAnswer::default() })
    }

    /// Starts to record. `is_stream`: whether the answer is a stream of events.
    pub fn recorder(self: &Arc<Self>, is_stream: bool) -> AnswerRecorder {
        AnswerRecorder { answer: Arc::clone(self), recorded: RecordedBytes::new(is_stream, &self.held) }
    }

    pub(super) fn want(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Whether the request may still get bytes of its answer: then somebody else shares it.
    pub(super) fn is_under_way(self: &Arc<Self>) -> bool {
        self.ended.get().is_none() && Arc::strong_count(self) > 1
    }

    /// The time at which the answer was over; `None` if it is not, or if there was none.
    pub(super) fn ended_at(&self) -> Option<Instant> {
        self.ended.get().map(|(at, _)| *at)
    }

    /// The bytes that are kept.
    pub(super) fn length(&self) -> usize {
        self.ended.get().map_or(0, |(_, recorded)| recorded.length)
    }

    /// The text without Muninn's blocks, if it is complete and the last answer of its turn. Of an answer that failed, broke
    /// off, or was cancelled by its client, nobody knows what its end would have been.
    pub(super) fn text(&self, format: WireFormat) -> Option<String> {
        let (_, recorded) = self.ended.get()?;
        let text = recorded.text(format)?;
        Some(without_packs(&text).into_owned())
    }
}

impl AnswerRecorder {
    /// Copies the next bytes. Those of a stream end where an event ends.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.answer.is_wanted.load(Ordering::Relaxed) {
            self.recorded.push(bytes);
        }
    }
}

/// An answer is over when its body is dropped.
impl Drop for AnswerRecorder {
    fn drop(&mut self) {
        let nothing = RecordedBytes::new(false, &self.answer.held);
        let recorded = std::mem::replace(&mut self.recorded, nothing);
        self.answer.ended.set((Instant::now(), recorded)).ok();
    }
}

impl RecordedBytes {
    fn new(is_stream: bool, held: &Arc<AtomicUsize>) -> RecordedBytes {
        RecordedBytes { pieces: VecDeque::new(), length: 0, is_stream, is_torn: false, held: Arc::clone(held) }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.is_torn {
            return;
        }
        let others = self.held.fetch_add(bytes.len(), Ordering::Relaxed);
        self.length += bytes.len();
        if bytes.len() > MOST_OF_ONE || others + bytes.len() > MOST_BYTES {
            return self.give_up();
        }
        match self.pieces.back_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => piece.extend_from_slice(bytes),
            None => self.pieces.push_back(bytes.to_vec()),
        }
        while self.length > MOST_OF_ONE {
            match self.pieces.pop_front().filter(|_| self.is_stream) {
                Some(first) => self.release(first.len()),
                None => return self.give_up(),
            }
        }
    }

    fn give_up(&mut self) {
        self.is_torn = true;
        self.pieces.clear();
        self.release(self.length);
    }

    fn release(&mut self, bytes: usize) {
        self.length -= bytes;
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn text(&self, format: WireFormat) -> Option<String> {
        if self.is_torn {
            return None;
        }
        let mut pieces = self.pieces.iter().map(Vec::as_slice);
        if self.is_stream {
            streamed_text(format, pieces)
        } else if self.pieces.len() == 1 {
            whole_text(format, pieces.next()?)
        } else {
            whole_text(format, &pieces.collect::<Vec<_>>().concat())
        }
    }
}

impl Drop for RecordedBytes {
    fn drop(&mut self) {
        self.release(self.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> String {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    }

    /// The answer after these bytes, and the bytes of all answers.
    fn recorded(is_stream: bool, is_wanted: bool, pieces: &[&str]) -> (Arc<ObservedAnswer>, Arc<AtomicUsize>) {
        let held = Arc::default();
        let answer = ObservedAnswer::new(&held);
        if is_wanted {
            answer.want();
        }
        let mut recorder = answer.recorder(is_stream);
        pieces.iter().for_each(|piece| recorder.push(piece.as_bytes()));
        assert!(answer.is_under_way() && answer.ended_at().is_none());
        drop(recorder);
        assert!(!answer.is_under_way() && answer.ended_at().is_some());
        (answer, held)
    }

    #[test]
    fn end_of_a_long_stream_is_kept_within_the_limit() {
        let (filler, last) = (event(&"x ".repeat(5_000)), event(" See src/a.rs."));
        let mut pieces = vec![filler.as_str(); 3 * MOST_OF_ONE / filler.len()];
        pieces.extend([last.as_str(), "data: [DONE]\n\n"]);
        let (answer, held) = recorded(true, true, &pieces);
        let length = answer.length();
        assert!((MOST_OF_ONE / 2..=MOST_OF_ONE).contains(&length), "{length}");
        assert_eq!(held.load(Ordering::Relaxed), length);
        let text = answer.text(WireFormat::Chat).unwrap();
        assert!(text.ends_with("x  See src/a.rs."), "{}", &text[text.len() - 40..]);
        drop(answer);
        assert_eq!(held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn whole_answer_over_the_limit_is_not_kept() {
        let piece = "x".repeat(MOST_OF_ONE / 2);
        for pieces in [vec![piece.as_str(); 3], vec![piece.repeat(3).as_str()]] {
            let (answer, held) = recorded(false, true, &pieces);
            assert_eq!((answer.length(), held.load(Ordering::Relaxed)), (0, 0));
            assert_eq!(answer.text(WireFormat::Chat), None);
        }
    }

    #[test]
    fn answers_together_are_bounded() {
        let held = Arc::new(AtomicUsize::new(MOST_BYTES - 10));
        let answer = ObservedAnswer::new(&held);
        answer.want();
        let mut recorder = answer.recorder(true);
        recorder.push(b"0123456789");
        recorder.push(b"0");
        recorder.push(b"1");
        drop(recorder);
        assert_eq!((answer.length(), held.load(Ordering::Relaxed)), (0, MOST_BYTES - 10));
        assert_eq!(answer.text(WireFormat::Chat), None);
    }

    #[test]
    fn answer_that_nobody_wants_is_not_kept() {
        let text = format!("{}data: [DONE]\n\n", event("src/a.rs"));
        assert_eq!(recorded(true, false, &[&text]).0.length(), 0);
        let (answer, _) = recorded(true, true, &[&text]);
        assert_eq!(answer.text(WireFormat::Chat).as_deref(), Some("src/a.rs"));
    }

    #[test]
    fn repeated_blocks_are_removed() {
        let text = event("As <muninn-context>src/a.rs</muninn-context> says.");
        let (answer, _) = recorded(true, true, &[&text, "data: [DONE]\n\n"]);
        assert_eq!(answer.text(WireFormat::Chat).as_deref(), Some("As says."));
    }
}
