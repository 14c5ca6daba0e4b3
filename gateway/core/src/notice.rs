//! The notice before a pack from `muninn/context`: no model answered, and how to ask or connect one.

use muninn_context_engine::render;

/// The answer in the pieces that are streamed: the notice, then the pack's paragraphs.
///
/// `connected`: whether a model is connected that could have been asked.
pub(super) fn around(connected: bool, pack: String, reason: Option<&str>) -> Vec<String> {
    let mut pieces = vec![opening(connected, !pack.is_empty(), reason)];
    pieces.extend(pack.split_inclusive("\n\n").map(str::to_owned));
    pieces
}

fn opening(connected: bool, found: bool, reason: Option<&str>) -> String {
    let mut text = String::from(if connected {
        "> This is `muninn/context`, which answers without a model"
    } else {
        "> **No model is connected**, so nobody answers the question"
    });
    if found {
        text.push_str(": below is what Muninn would add to a prompt for it.\n");
    } else {
        text.push_str(", and Muninn would add nothing to a prompt for it");
        let reason = reason.unwrap_or("nothing relevant was found");
        // The reason names files.
        text.push_str(&format!(" ({}).\n", render::heading(reason)));
    }
    text.push_str(if connected {
        "> To ask a model, name another one (`muninn ask` takes the connected one by default).\n\n"
    } else {
        "> To connect one, start ollama, vLLM, llama.cpp or LM Studio on this machine (they are found by themselves), or add a \
         `[[backends]]` entry to `muninn.toml` (`muninn config check` says where it is read from).\n\n"
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notice_says_whether_a_model_is_connected() {
        let [connected, alone] = [true, false].map(|connected| around(connected, String::new(), None).concat());
        assert!(!connected.contains("No model is connected") && !connected.contains("[[backends]]"), "{connected}");
        assert!(connected.contains("without a model") && connected.contains("To ask a model"), "{connected}");
        for text in [&connected, &alone] {
            assert!(text.contains(", and Muninn would add nothing to a prompt for it (nothing"), "{text}");
        }
        assert!(alone.contains("No model is connected") && alone.contains("[[backends]]"), "{alone}");
    }
}
