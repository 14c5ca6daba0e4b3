//! Cache markers. They are no part of what the model sees, so they may move from request to request.

use serde_json::value::RawValue;

use super::blocks::{Block, Marker, Turn};
use super::write_tools::Function;

/// The most that the API takes in one request.
const MOST: usize = 4;

const OURS: &str = r#"{"type":"ephemeral"}"#;

/// Sees to it that there are not too many markers, and where the client has set none but `wants` its prompts cached
/// (as other formats' backends do by themselves), that there are some: behind the system text, or the tools where there
/// is none, and at the end of the conversation.
pub(super) fn settle<'r>(tools: &mut [Function<'r>], system: &mut [Block<'r>], turns: &mut [Turn<'r>], wants: bool) {
    let mut markers = Vec::new();
    let in_tools = tools.iter_mut().map(|tool| &mut tool.cache_control);
    markers.extend(in_tools.filter(|marker| marker.is_some()));
    each(system, &mut markers);
    for turn in turns.iter_mut() {
        each(&mut turn.content, &mut markers);
    }
    let surplus = markers.len().saturating_sub(MOST);
    let none = markers.is_empty();
    // The last ones reach furthest.
    for marker in markers.into_iter().take(surplus) {
        *marker = None;
    }
    if none && wants {
        let ours = serde_json::from_str::<&'static RawValue>(OURS).ok();
        match (system.last_mut(), tools.last_mut()) {
            (Some(block), _) => mark(block, ours),
            (None, Some(tool)) => tool.cache_control = ours,
            (None, None) => {}
        }
        if let Some(block) = turns.last_mut().and_then(|turn| turn.content.last_mut()) {
            mark(block, ours);
        }
    }
}

fn each<'b, 'r>(blocks: &'b mut [Block<'r>], markers: &mut Vec<&'b mut Marker<'r>>) {
    for block in blocks {
        match block {
            Block::ToolResult {
                content, cache_control, ..
            } => {
                each(content, markers);
                markers.extend(cache_control.is_some().then_some(cache_control));
            }
            block => {
                if let Some(marker) = of(block).filter(|marker| marker.is_some()) {
                    markers.push(marker);
                }
            }
        }
    }
}

/// The marker of a block that can have one.
fn of<'b, 'r>(block: &'b mut Block<'r>) -> Option<&'b mut Marker<'r>> {
    match block {
        Block::Text { cache_control, .. }
        | Block::Image { cache_control, .. }
        | Block::Document { cache_control, .. }
        | Block::ToolUse { cache_control, .. }
        | Block::ToolResult { cache_control, .. } => Some(cache_control),
        Block::Thinking { .. } | Block::RedactedThinking { .. } => None,
    }
}

fn mark<'r>(block: &mut Block<'r>, ours: Marker<'r>) {
    if let Some(marker) = of(block) {
        *marker = ours;
    }
}
