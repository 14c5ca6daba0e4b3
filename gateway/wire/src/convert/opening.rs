//! The beginning of a backend's answer: in what form it is, and whether it is an error.
//!
//! Neither the request's `stream` nor the answer's `content-type` can be relied on, and some servers answer an error with status
//! 200. So the first bytes are looked at, before anything is sent to the client.

use serde::de::IgnoredAny;

use super::sse::{BYTE_ORDER_MARK, SseParser, plain};
use crate::error::{ErrorKind, Failure};
use crate::{Element, Members, failure};

/// The most bytes that are read to find an event, or an error in JSON.
const LONGEST: usize = 256 << 10;

/// The form of an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BodyForm {
    /// Server-sent events.
    Events,
    /// Events that clients cannot read: no empty line between them, spaces before their fields, or a line of JSON each.
    LooseEvents,
    /// JSON.
    Json,
    /// JSON with `data: [DONE]` behind it.
    JsonWithEnd,
    /// Not known.
    #[default]
    Unknown,
}

impl BodyForm {
    /// Whether the body is a stream of events.
    pub fn is_stream(self) -> bool {
        matches!(self, BodyForm::Events | BodyForm::LooseEvents)
    }
}

/// What the beginning of an answer tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opening {
    pub form: BodyForm,
    /// The error that the answer is.
    pub failure: Option<Failure>,
}

/// Reads the beginning of an answer.
#[derive(Default)]
pub struct OpeningReader {
    bytes: Vec<u8>,
    parser: SseParser,
    parsed: usize,
    /// How far JSON was searched for a second line of it.
    searched: usize,
    /// Whether a second line is no value of its own.
    is_one_value: bool,
}

impl OpeningReader {
    /// Takes more bytes. Returns what they tell as soon as that is certain.
    pub fn push(&mut self, bytes: &[u8]) -> Option<Opening> {
        self.bytes.extend_from_slice(bytes);
        let Some(first) = self.first() else { return (self.bytes.len() > LONGEST).then(Opening::default) };
        match first {
            b'{' | b'[' => self.json(),
            b'<' => Some(Opening { form: BodyForm::Unknown, failure: Some(page()) }),
            b'd' | b'e' | b'i' | b'r' | b':' => self.events(),
            _ => Some(Opening::default()),
        }
    }

    /// Takes the end of the answer.
    pub fn end(&mut self) -> Opening {
        match self.first() {
            None => {
                let message = "the backend sent an empty answer".to_owned();
                let failure = Failure { kind: ErrorKind::BadGateway, message };
                Opening { form: BodyForm::Unknown, failure: Some(failure) }
            }
            Some(b'{' | b'[') => self.whole(),
            Some(_) => {
                self.bytes.extend_from_slice(b"\n\n");
                self.events().unwrap_or_default()
            }
        }
    }

    /// The first byte that is no white space.
    fn first(&self) -> Option<u8> {
        if BYTE_ORDER_MARK.starts_with(&self.bytes) {
            return None;
        }
        let text = self.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.bytes);
        text.trim_ascii_start().first().copied()
    }

    fn events(&mut self) -> Option<Opening> {
        if self.parsed == 0
            && let Some(end) = memchr::memmem::find(&self.bytes, b"\n\n")
            && let Some((name, data)) = plain(&self.bytes[..end + 2])
        {
            return Some(Opening { form: BodyForm::Events, failure: error_in(name, data) });
        }
        let mut first = None;
        let new = &self.bytes[self.parsed..];
        let read = self.parser.push(new, |name, data| _ = first.get_or_insert_with(|| error_in(name, data)));
        self.parsed = self.bytes.len();
        if read.is_err() {
            return Some(Opening::default());
        }
        let form = if self.parser.is_loose() { BodyForm::LooseEvents } else { BodyForm::Events };
        let first = first.or_else(|| (self.bytes.len() > LONGEST).then_some(None));
        first.map(|failure| Opening { form, failure })
    }

    /// Lines of JSON are events once a second one follows the first.
    fn json(&mut self) -> Option<Opening> {
        if self.is_one_value {
            return (self.bytes.len() > LONGEST).then_some(Opening { form: BodyForm::Json, failure: None });
        }
        let start = self.bytes.len() - self.bytes.trim_ascii_start().len();
        let from = self.searched.max(start);
        if let Some(at) = memchr::memmem::find(&self.bytes[from..], b"\n{") {
            let first = serde_json::from_slice::<IgnoredAny>(text_of(&self.bytes[..from + at]));
            if first.is_ok() {
                return self.events();
            }
            self.is_one_value = true;
        }
        self.searched = self.bytes.len().saturating_sub(1);
        (self.bytes.len() > LONGEST).then_some(Opening { form: BodyForm::Json, failure: None })
    }

    fn whole(&mut self) -> Opening {
        let text = String::from_utf8_lossy(self.bytes.trim_ascii()).into_owned();
        let text = text.trim_start_matches('\u{feff}');
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
        let is_value = values.next().is_some_and(|value| value.is_ok());
        let (value, rest) = text.split_at(if is_value { values.byte_offset() } else { text.len() });
        let rest = rest.trim_start();
        if rest.starts_with('{') {
            return self.events().unwrap_or_default();
        }
        let form = if rest.starts_with("data:") { BodyForm::JsonWithEnd } else { BodyForm::Json };
        Opening { form, failure: error_in("", value) }
    }
}

/// Returns bytes without a byte order mark and white space around them.
fn text_of(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii()
}

/// Returns the JSON of a body that has `data: [DONE]` behind it, or a byte order mark before it.
pub fn without_end(body: &str) -> &str {
    let body = body.trim_start_matches('\u{feff}');
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<IgnoredAny>();
    let is_value = values.next().is_some_and(|value| value.is_ok());
    if is_value { &body[..values.byte_offset()] } else { body }
}

/// The error that the first event, or a whole body, is.
fn error_in(name: &str, data: &str) -> Option<Failure> {
    let data = data.trim();
    // Google's servers answer a list with one error.
    let listed = || crate::scan::elements(data)?.into_iter().next().and_then(Element::object);
    let members = Members::of(data).or_else(listed)?;
    if let Some(found) = failure::find(name, &members) {
        return Some(found);
    }
    let response = members.object("response");
    if members.string("type").as_deref() == Some("response.failed") {
        return failure::find("error", &response);
    }
    // OpenRouter puts an error into the choice.
    let choice = members.elements("choices").into_iter().find_map(Element::object);
    if let Some(found) = choice.and_then(|choice| failure::find("", &choice)) {
        return Some(found);
    }
    refused(&members.object("base_resp"), "status_code", "status_msg").or_else(|| {
        let has_answer = ["choices", "content", "output", "type"].iter().any(|key| members.get(key).is_some());
        let says_no = members.get("success") == Some("false");
        if has_answer || !says_no { None } else { refused(&members, "code", "msg") }
    })
}

/// The error of a vendor's own form: MiniMax's `base_resp`, or Zhipu's `code` and `msg`.
fn refused(members: &Members<'_>, code: &str, message: &str) -> Option<Failure> {
    let code = members.get(code).filter(|code| *code != "0")?.trim_matches('"');
    let message = members.string(message).unwrap_or_default();
    // MiniMax: no credit, a wrong key, a prompt that it refuses, and too many requests are no fault of its servers.
    let kind = match code {
        "1002" | "1039" => ErrorKind::RateLimit,
        "1004" | "2049" => ErrorKind::Authentication,
        "1008" | "1026" | "1027" | "2013" => ErrorKind::InvalidRequest,
        _ => ErrorKind::Server,
    };
    Some(Failure { kind, message: format!("{message} ({code})") })
}

fn page() -> Failure {
    let message = "the backend answered with a page and not with an answer: is its address right?".to_owned();
    Failure { kind: ErrorKind::BadGateway, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form and the message of the error, however the bytes are split.
    fn opened(body: &str) -> (BodyForm, String) {
        let of_pieces = |size: usize| {
            let mut reader = OpeningReader::default();
            let found = body.as_bytes().chunks(size).find_map(|piece| reader.push(piece));
            found.unwrap_or_else(|| reader.end())
        };
        let opening = of_pieces(body.len().max(1));
        assert_eq!(of_pieces(1), opening, "{body}");
        assert_eq!(of_pieces(7), opening, "{body}");
        (opening.form, opening.failure.map(|failure| failure.message).unwrap_or_default())
    }

    #[test]
    fn form_is_judged_by_the_first_bytes() {
        let chunk = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
        for (body, form) in [
            (format!("data: {chunk}\n\n"), BodyForm::Events),
            (format!(": hello\n\ndata: {chunk}\r\n\r\ndata: [DONE]\n\n"), BodyForm::Events),
            (format!("\u{feff}event: a\ndata: {chunk}\n\n"), BodyForm::Events),
            (format!("data: {chunk}"), BodyForm::Events),
            ("data: 0\n\n".to_owned(), BodyForm::Events),
            (format!("data: {chunk}\ndata: {chunk}\ndata: [DONE]\n"), BodyForm::LooseEvents),
            (format!("   data: {chunk}\n\n"), BodyForm::LooseEvents),
            (format!("{chunk}\n{chunk}\n"), BodyForm::LooseEvents),
            (chunk.to_owned(), BodyForm::Json),
            (format!("\n {chunk}\n"), BodyForm::Json),
            ("{\n  \"choices\": [\n    {}\n  ]\n}".to_owned(), BodyForm::Json),
            (format!("{chunk}\n\ndata: [DONE]\n\n"), BodyForm::JsonWithEnd),
            ("{\"cut".to_owned(), BodyForm::Json),
            ("Bad Request".to_owned(), BodyForm::Unknown),
        ] {
            assert_eq!(opened(&body), (form, String::new()), "{body}");
        }
        let mut reader = OpeningReader::default();
        let long = format!("{{\"output\":\"{}", "x".repeat(LONGEST));
        assert_eq!(reader.push(long.as_bytes()).unwrap().form, BodyForm::Json);
        for (silence, form) in [(": \n\n", BodyForm::Events), ("data: x", BodyForm::Events)] {
            let opening = OpeningReader::default().push(silence.repeat(LONGEST).as_bytes());
            assert_eq!(opening, Some(Opening { form, failure: None }), "{silence}");
        }
    }

    #[test]
    fn errors_with_status_200_are_found() {
        for (body, message) in [
            (r#"{"error":{"message":"no","code":500}}"#, "no"),
            (r#"{"error":"no"}"#, "no"),
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"no"}}"#, "no"),
            (r#"[{"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}]"#, "no"),
            (r#"{"base_resp":{"status_code":1002,"status_msg":"no"}}"#, "no (1002)"),
            (r#"{"code":500,"msg":"no","success":false}"#, "no (500)"),
            ("data: {\"error\":{\"message\":\"no\"}}\n\n", "no"),
            ("event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"no\"}}\n\n", "no"),
            ("data: {\"choices\":[{\"index\":0,\"error\":{\"message\":\"no\"}}]}\n\n", "no"),
            ("data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"no\"}}}\n\n", "no"),
            ("", "the backend sent an empty answer"),
            (" \n", "the backend sent an empty answer"),
            (
                "<!doctype html><title>Sign in",
                "the backend answered with a page and not with an answer: is its address right?",
            ),
        ] {
            assert_eq!(opened(body).1, message, "{body}");
        }
        for body in [
            r#"{"choices":[{"message":{"content":"{\"error\":1}"}}],"error":null,"base_resp":{"status_code":0}}"#,
            "data: {\"choices\":[{\"delta\":{}}]}\n\ndata: {\"error\":{\"message\":\"later\"}}\n\n",
            r#"{"id":"resp_1","object":"response","status":"completed","error":null,"output":[]}"#,
            r#"{"type":"message","content":[],"success":false,"code":3}"#,
        ] {
            assert_eq!(opened(body).1, "", "{body}");
        }
    }
}
