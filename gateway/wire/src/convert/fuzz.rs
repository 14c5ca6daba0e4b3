//! Fuzz tests of all code that reads bytes: the golden sources with random changes.
//!
//! For any input, no code panics or hangs, the output's length is bounded by the input's, and every stream ends with a
//! last event. `PROPTEST_CASES=100000 cargo test -p muninn-wire --release --lib fuzz` runs longer.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

use super::golden::{FORMATS, context, parsed, sources};
use super::*;
use crate::{Prompt, UsageWatch, WireFormat, overflow};

/// All golden sources of one kind, with their formats.
struct Corpus(Vec<(WireFormat, Vec<u8>)>);

impl Corpus {
    fn of(kind: &str) -> Corpus {
        let of_format =
            |(format, name)| sources(name, kind).into_iter().map(move |(_, text)| (format, text.into_bytes()));
        Corpus(FORMATS.into_iter().flat_map(of_format).collect())
    }
}

static REQUESTS: LazyLock<Corpus> = LazyLock::new(|| Corpus::of("request"));
static ANSWERS: LazyLock<Corpus> = LazyLock::new(|| Corpus::of("answer"));
static STREAMS: LazyLock<Corpus> = LazyLock::new(|| Corpus::of("stream"));

/// A change of the bytes.
#[derive(Debug, Clone)]
enum Change {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    Cut(Index),
    /// Inserts part of another source.
    Graft(Index, Index, usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let syntax = proptest::sample::select(&b"{}[]\",:\\\n\r\0 0-.eE9tfn\xff\xc3\xef\xbb\xbf"[..]);
    let change = prop_oneof![
        (any::<Index>(), prop_oneof![syntax.clone(), any::<u8>()]).prop_map(|(at, byte)| Change::Set(at, byte)),
        (any::<Index>(), proptest::collection::vec(prop_oneof![syntax, any::<u8>()], 1..9))
            .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<Index>(), 1..60_usize, 2..200_usize).prop_map(|(at, length, times)| Change::Repeat(at, length, times)),
        any::<Index>().prop_map(Change::Cut),
        (any::<Index>(), any::<Index>(), 1..300_usize).prop_map(|(at, from, length)| Change::Graft(at, from, length)),
    ];
    proptest::collection::vec(change, 0..6)
}

fn changed(corpus: &Corpus, which: Index, changes: &[Change]) -> (WireFormat, Vec<u8>) {
    let (format, mut bytes) = which.get(&corpus.0).clone();
    for change in changes {
        let length = bytes.len();
        let place = |at: &Index| at.index(length + 1);
        match change {
            Change::Set(at, byte) if length > 0 => bytes[at.index(length)] = *byte,
            Change::Insert(at, new) => drop(bytes.splice(place(at)..place(at), new.iter().copied())),
            Change::Remove(at, count) => drop(bytes.drain(place(at)..(place(at) + count).min(length))),
            Change::Repeat(at, count, times) => {
                let part = bytes[place(at)..(place(at) + count).min(length)].repeat(*times);
                drop(bytes.splice(place(at)..place(at), part));
            }
            Change::Cut(at) => bytes.truncate(place(at)),
            Change::Graft(at, from, count) => {
                let (_, other) = from.get(&corpus.0);
                let start = from.index(other.len());
                let part = other[start..(start + count).min(other.len())].to_vec();
                drop(bytes.splice(place(at)..place(at), part));
            }
            Change::Set(..) => {}
        }
    }
    (format, bytes)
}

/// Whether a text is JSON, with numbers of any size.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The upper bound of the output's length for an input of `read` bytes. It allows for escapes, framing and repeated
/// texts.
fn bound(read: usize) -> usize {
    64 * read + 64_000
}

proptest! {
    #[test]
    fn damaged_requests_become_json_of_bounded_length(which: Index, changes in changes()) {
        let (from, bytes) = changed(&REQUESTS, which, &changes);
        Prompt::parse(from, &bytes).ok();
        let text = String::from_utf8_lossy(&bytes);
        for (to, _) in FORMATS {
            if let Ok(converted) = request(from, to, &text) {
                prop_assert!(is_json(&converted.body), "{}", converted.body);
                prop_assert!(converted.body.len() < bound(bytes.len()));
            }
        }
        estimate(from, &text, |text| u32::try_from(text.len() / 4).unwrap_or(u32::MAX)).ok();
    }

    #[test]
    fn damaged_answers_become_json_of_bounded_length(which: Index, changes in changes()) {
        let (from, bytes) = changed(&ANSWERS, which, &changes);
        let text = String::from_utf8_lossy(&bytes);
        for (to, _) in FORMATS {
            if let Ok(body) = AnswerConverter::new(from, to, context()).whole(&text) {
                prop_assert!(is_json(&body), "{body}");
                prop_assert!(body.len() < bound(bytes.len()));
            }
            let streamed = AnswerConverter::new(from, to, context()).whole_as_stream(&text);
            check_end(to, &streamed)?;
        }
        let _ignored = overflow::Overflow::parse(&text);
        let _ignored = crate::failure::read(http::StatusCode::BAD_REQUEST, &text);
    }

    #[test]
    fn damaged_streams_end_with_a_last_event(which: Index, changes in changes(), mut cuts in proptest::collection::vec(any::<Index>(), 0..8), broke: bool) {
        let (from, bytes) = changed(&STREAMS, which, &changes);
        let mut watch = UsageWatch::default();
        let mut aligner = crate::Aligner::default();
        let mut passed = Vec::new();
        cuts.sort_by_key(|cut| cut.index(bytes.len() + 1));
        let places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([bytes.len()]).collect();
        for (to, _) in FORMATS {
            let mut converter = AnswerConverter::new(from, to, context());
            let (mut out, mut at) = (String::new(), 0);
            for place in &places {
                out.push_str(&converter.push(&bytes[at..*place]));
                at = *place;
            }
            out.push_str(&converter.finish(broke.then_some("reset")));
            prop_assert!(out.len() < bound(bytes.len()));
            prop_assert!(converter.ended());
            check_end(to, &out)?;
        }
        let mut at = 0;
        for place in &places {
            watch.push(&bytes[at..*place]);
            passed.extend_from_slice(&aligner.push(bytes[at..*place].to_vec().into()));
            at = *place;
        }
        passed.extend_from_slice(&aligner.rest());
        prop_assert_eq!(passed, bytes);
    }
}

/// Checks that a stream ends with the last event or the error event of its format.
fn check_end(format: WireFormat, stream: &str) -> Result<(), TestCaseError> {
    let events = parsed(stream);
    prop_assert!(stream.ends_with("\n\n"));
    let Some((name, data)) = events.last() else {
        return Err(TestCaseError::fail("an empty stream"));
    };
    let ends = match format {
        WireFormat::Chat => data == "[DONE]",
        WireFormat::Messages => name == "message_stop" || name == "error",
        WireFormat::Responses => {
            ["response.completed", "response.incomplete", "response.failed"].contains(&name.as_str())
        }
    };
    prop_assert!(ends, "{name}: {data}");
    for (_, data) in &events {
        let reads = data == "[DONE]" || is_json(data);
        prop_assert!(reads, "{data}");
    }
    Ok(())
}
