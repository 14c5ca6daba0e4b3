//! The transcript of Codex: one JSON object per line, with input items of the Responses API among other lines.

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Transcript;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// A compaction, with the items that replace those before it.
#[derive(Deserialize)]
struct Compacted<'a> {
    #[serde(borrow, default)]
    replacement_history: Vec<&'a RawValue>,
}

/// Takes the item of a line.
pub(super) fn take(line: &[u8], transcript: &mut Transcript) {
    let is_item = [&br#""response_item""#[..], br#""compacted""#].iter().any(|kind| memmem::find(line, kind).is_some());
    if !is_item {
        return;
    }
    let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
        return;
    };
    match line.kind {
        "response_item" => transcript.push(line.payload.get()),
        "compacted" => {
            transcript.restart();
            if let Ok(compacted) = serde_json::from_str::<Compacted<'_>>(line.payload.get()) {
                for item in compacted.replacement_history {
                    transcript.push(item.get());
                }
            }
        }
        _ => {}
    }
}
