//! What the built-in model says around a pack: that no model spoke, and how to connect one.

use super::Settings;

/// The whole answer in the pieces in which it is streamed: a notice, then the pack line group by line group.
#[must_use]
pub(super) fn around(settings: &Settings, pack: String, reason: Option<&str>) -> Vec<String> {
    let mut pieces = vec![opening(settings, !pack.is_empty(), reason)];
    pieces.extend(pack.split_inclusive("\n\n").map(str::to_owned));
    pieces
}

fn opening(settings: &Settings, found: bool, reason: Option<&str>) -> String {
    let mut text = String::from("> **No model is connected**, so nobody answers the question: ");
    if !settings.router.backends().is_empty() {
        text = String::from("> This is `muninn/context`, which answers without a model: ");
    }
    text.push_str(if found {
        "below is what Muninn would add to a prompt for it.\n"
    } else {
        "and Muninn would add nothing to a prompt for it"
    });
    if !found {
        let reason = reason.unwrap_or("nothing relevant was found");
        text.push_str(&format!(" ({reason}).\n"));
    }
    text.push_str(
        "> To connect one, start ollama, vLLM, llama.cpp or LM Studio on this machine (they are found by themselves), or add a \
         `[[backends]]` entry to `muninn.toml` (`muninn config check` says where it is read from).\n\n",
    );
    text
}
