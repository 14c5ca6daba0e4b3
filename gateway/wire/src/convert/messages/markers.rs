//! Cache markers. The model does not see them, so they may differ from request to request.

use serde_json::value::RawValue;

use super::blocks::{Block, Marker, Turn};
use super::write_tools::Function;

/// The largest number of markers that the API accepts in one request.
const MOST: usize = 4;

/// The marker that Muninn adds.
const MARKER: &str = r#"{"type":"ephemeral"}"#;

/// Removes surplus markers, or adds markers if there are none and `wants_cache` is set.
///
/// Clients of other formats set no markers, because their backends cache prompts without any. Two are added: one after
/// the system text (after the tools if there is none), one at the end of the conversation.
pub(super) fn adjust<'r>(
    tools: &mut [Function<'r>],
    system: &mut [Block<'r>],
    turns: &mut [Turn<'r>],
    wants_cache: bool,
) {
    let mut markers = Vec::new();
    let in_tools = tools.iter_mut().map(|tool| &mut tool.cache_control);
    markers.extend(in_tools.filter(|marker| marker.is_some()));
    collect(system, &mut markers);
    for turn in turns.iter_mut() {
        collect(&mut turn.content, &mut markers);
    }
    let surplus = markers.len().saturating_sub(MOST);
    let none = markers.is_empty();
    // The last markers cache the longest prefixes, so the first ones are removed.
    for marker in markers.into_iter().take(surplus) {
        *marker = None;
    }
    if none && wants_cache {
        let marker = serde_json::from_str::<&'static RawValue>(MARKER).ok();
        match (system.last_mut(), tools.last_mut()) {
            (Some(block), _) => set_marker(block, marker),
            (None, Some(tool)) => tool.cache_control = marker,
            (None, None) => {}
        }
        if let Some(block) = turns.last_mut().and_then(|turn| turn.content.last_mut()) {
            set_marker(block, marker);
        }
    }
}

/// Collects the markers of blocks, in order.
fn collect<'b, 'r>(blocks: &'b mut [Block<'r>], markers: &mut Vec<&'b mut Marker<'r>>) {
    for block in blocks {
        match block {
            Block::ToolResult { content, cache_control, .. } => {
                collect(content, markers);
                markers.extend(cache_control.is_some().then_some(cache_control));
            }
            block => {
                if let Some(marker) = marker_of(block).filter(|marker| marker.is_some()) {
                    markers.push(marker);
                }
            }
        }
    }
}

/// Returns the marker of a block, `None` for thinking, which cannot have one.
fn marker_of<'b, 'r>(block: &'b mut Block<'r>) -> Option<&'b mut Marker<'r>> {
    match block {
        Block::Text { cache_control, .. }
        | Block::Image { cache_control, .. }
        | Block::Document { cache_control, .. }
        | Block::ToolUse { cache_control, .. }
        | Block::ToolResult { cache_control, .. } => Some(cache_control),
        Block::Thinking { .. } | Block::RedactedThinking { .. } => None,
    }
}

fn set_marker<'r>(block: &mut Block<'r>, new: Marker<'r>) {
    if let Some(marker) = marker_of(block) {
        *marker = new;
    }
}
