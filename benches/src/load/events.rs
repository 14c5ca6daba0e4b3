//! The event streams that the mock sends and the client reads.

use anyhow::{Context, Result, ensure};
use memchr::memchr_iter;
use serde_json::Value;

use super::format::Format;

pub(crate) const WORDS: usize = 62;

const OUTPUT_TOKENS: u64 = 62;

/// Events of one whole chat answer: a role, words, a finish reason with usage, `[DONE]`.
pub(crate) const CHAT_EVENTS: usize = WORDS + 3;

/// The events of one answer as a real server of this format sends them. `word` gives the text of each of [`WORDS`] events,
/// which must need no escaping in JSON.
pub(crate) fn events(format: Format, word: impl Fn(usize) -> String) -> Vec<String> {
    let words: Vec<String> = (0..WORDS).map(word).collect();
    match format {
        Format::Chat => chat(&words),
        Format::Messages => messages(&words),
        Format::Responses => responses(&words),
    }
}

pub(crate) fn plain_word(number: usize) -> String {
    format!("word{number} ")
}

fn chat(words: &[String]) -> Vec<String> {
    let chunk = |delta: &str, finish: &str, usage: &str| {
        r#"data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"mock","choices":[{"index":0,"delta":{DELTA},"finish_reason":FINISH}]USAGE}"#
            .replace("DELTA", delta)
            .replace("FINISH", finish)
            .replace("USAGE", usage)
            + "\n\n"
    };
    let mut events = vec![chunk(r#""role":"assistant","content":"""#, "null", "")];
    events.extend(words.iter().map(|word| chunk(&format!(r#""content":"{word}""#), "null", "")));
    let usage = r#","usage":{"prompt_tokens":500,"completion_tokens":62,"total_tokens":562}"#;
    events.push(chunk("", r#""stop""#, usage));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn messages(words: &[String]) -> Vec<String> {
    let event = |name: &str, rest: &str| format!("event: {name}\ndata: {{\"type\":\"{name}\"{rest}}}\n\n");
    let start = r#","message":{"id":"msg_bench","type":"message","role":"assistant","model":"mock","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":500,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}"#;
    let block = r#","index":0,"content_block":{"type":"text","text":""}"#;
    let mut events = vec![event("message_start", start), event("content_block_start", block)];
    for word in words {
        let delta = r#","index":0,"delta":{"type":"text_delta","text":"WORD"}"#.replace("WORD", word);
        events.push(event("content_block_delta", &delta));
    }
    let stop = r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":62}"#;
    events.push(event("content_block_stop", r#","index":0"#));
    events.push(event("message_delta", stop));
    events.push(event("message_stop", ""));
    events
}

fn responses(words: &[String]) -> Vec<String> {
    let mut events = Vec::new();
    let mut event = |name: &str, rest: &str| {
        let number = events.len();
        events.push(format!("event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{number},{rest}}}\n\n"));
    };
    let response = |status: &str, output: &str, usage: &str| {
        r#""response":{"id":"resp_bench","object":"response","created_at":1700000000,"status":"STATUS","error":null,"incomplete_details":null,"model":"mock","output":[OUTPUT],"parallel_tool_calls":true,"store":false,"tools":[],"usage":USAGE}"#
            .replace("STATUS", status)
            .replace("OUTPUT", output)
            .replace("USAGE", usage)
    };
    let item = |status: &str, content: &str| {
        r#"{"id":"msg_bench","type":"message","status":"STATUS","role":"assistant","content":[CONTENT]}"#
            .replace("STATUS", status)
            .replace("CONTENT", content)
    };
    let part = |text: &str| r#"{"type":"output_text","annotations":[],"text":"TEXT"}"#.replace("TEXT", text);
    let in_item = r#""item_id":"msg_bench","output_index":0,"content_index":0"#;
    event("response.created", &response("in_progress", "", "null"));
    event("response.in_progress", &response("in_progress", "", "null"));
    event("response.output_item.added", &format!(r#""output_index":0,"item":{}"#, item("in_progress", "")));
    event("response.content_part.added", &format!(r#"{in_item},"part":{}"#, part("")));
    for word in words {
        event("response.output_text.delta", &format!(r#"{in_item},"delta":"{word}""#));
    }
    let text = words.concat();
    let done = item("completed", &part(&text));
    event("response.output_text.done", &format!(r#"{in_item},"text":"{text}""#));
    event("response.content_part.done", &format!(r#"{in_item},"part":{}"#, part(&text)));
    event("response.output_item.done", &format!(r#""output_index":0,"item":{done}"#));
    let usage = r#"{"input_tokens":500,"input_tokens_details":{"cached_tokens":0},"output_tokens":62,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":562}"#;
    event("response.completed", &response("completed", &done, usage));
    events
}

/// Checks a whole unpaced answer, and returns the number of its events. It must hold all words once and in order, the
/// output tokens that the mock reports, and the format's last event last.
pub(crate) fn check(format: Format, answer: &[u8]) -> Result<usize> {
    let mut events: Vec<Vec<u8>> = Vec::new();
    EventCutter::default().feed(answer, |event| events.push(event.to_vec()));
    let ended = events.last().is_some_and(|event| format.is_last(event));
    let end = String::from_utf8_lossy(&answer[answer.len().saturating_sub(300)..]);
    ensure!(ended, "the {format} stream has no last event; it ends {end:?}");
    let mut text = String::new();
    let mut output_tokens = 0;
    for event in &events {
        let value = data(event)?;
        text.push_str(delta_text(format, event, &value));
        for usage in [&value["usage"], &value["message"]["usage"], &value["response"]["usage"]] {
            let counts = [&usage["completion_tokens"], &usage["output_tokens"]];
            output_tokens = counts.into_iter().filter_map(Value::as_u64).fold(output_tokens, u64::max);
        }
    }
    let wanted: String = (0..WORDS).map(plain_word).collect();
    ensure!(text == wanted, "the {format} stream says {text:?}");
    ensure!(
        output_tokens == OUTPUT_TOKENS,
        "the {format} stream reports {output_tokens} output tokens of {OUTPUT_TOKENS}"
    );
    Ok(events.len())
}

/// The JSON of an event; null for `[DONE]` and comments.
fn data(event: &[u8]) -> Result<Value> {
    let text = String::from_utf8_lossy(event);
    let json = text.lines().find_map(|line| line.strip_prefix("data:")).map(str::trim);
    match json {
        None | Some("[DONE]") => Ok(Value::Null),
        Some(json) => serde_json::from_str(json).with_context(|| format!("in {json:?}")),
    }
}

fn delta_text<'a>(format: Format, event: &[u8], value: &'a Value) -> &'a str {
    let text = match format {
        _ if !format.is_delta(event) => &Value::Null,
        Format::Chat => &value["choices"][0]["delta"]["content"],
        Format::Messages => &value["delta"]["text"],
        Format::Responses => &value["delta"],
    };
    text.as_str().unwrap_or_default()
}

/// Splits a stream at the blank lines that end events, however its bytes are split. Only boundaries are found: the client
/// reads up to 1.7 million events per second without a gateway.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventCutter {
    partial: Vec<u8>,
}

impl EventCutter {
    /// Hands each event that ends in the next bytes of the stream to `sink`, with its blank line.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut sink: impl FnMut(&[u8])) {
        let mut start = 0;
        for at in memchr_iter(b'\n', bytes) {
            let before = if at > start { bytes.get(at - 1) } else { self.partial.last() };
            if before != Some(&b'\n') {
                continue;
            }
            let event = &bytes[start..=at];
            if self.partial.is_empty() {
                sink(event);
            } else {
                self.partial.extend_from_slice(event);
                sink(&self.partial);
                self.partial.clear();
            }
            start = at + 1;
        }
        self.partial.extend_from_slice(&bytes[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_split_at_every_cut() {
        let wanted = &events(Format::Messages, plain_word)[..6];
        let stream = wanted.concat().into_bytes();
        for cut in 0..=stream.len() {
            let mut cutter = EventCutter::default();
            let mut seen = Vec::new();
            for bytes in [&stream[..cut], &[], &stream[cut..]] {
                cutter.feed(bytes, |event| seen.push(String::from_utf8(event.to_vec()).unwrap()));
            }
            assert_eq!(seen, wanted, "cut at {cut}");
        }
    }

    #[test]
    fn lost_word_end_or_usage_is_detected() {
        for format in Format::ALL {
            let whole = events(format, plain_word);
            let without = |drop: &dyn Fn(&String) -> bool| -> Vec<u8> {
                let kept: Vec<&str> = whole.iter().filter(|one| !drop(one)).map(String::as_str).collect();
                kept.concat().into_bytes()
            };
            let is_delta = |one: &String| format.is_delta(one.as_bytes());
            assert!(check(format, &without(&|one| is_delta(one) && one.contains("word7 "))).is_err());
            assert!(check(format, &without(&|one| format.is_last(one.as_bytes()))).is_err());
            let text = whole.concat();
            assert_eq!(check(format, text.as_bytes()).unwrap(), whole.len());
            assert!(check(format, text.replace("_tokens\":62", "_tokens\":61").as_bytes()).is_err());
        }
    }
}
