//! Looks through a text for calls, once, from its start to its end.
//!
//! Wherever a call may begin it is tried to be read. What a try has read in vain is read again; a text could be made of
//! nothing else, so all that is read is counted, and at a small multiple of the text's length the search is over.

use serde_json::Value;

use super::error::{ArgumentsFault, CallError};
use super::json::Reader;
use super::marked::Marked;
use super::object::{self, Place};
use super::tools::Tools;
use super::{Dialect, Found, Said, fence, marked, python, xml};

/// How often a text may be read, all in all.
const READINGS: usize = 16;
/// Of short texts this much is read in any case, in bytes.
const MIN_READ: usize = 1 << 16;
/// Tags for calls alone.
const CALL_TAGS: [&str; 4] = ["tool_call", "function_call", "tool_use", "toolcall"];
/// Tags that say a tool's name: `<function=grep>`, `<invoke name="grep">`.
const NAMING_TAGS: [&str; 4] = ["function", "invoke", "tool", "tool_call"];
/// What ends a call that was not closed.
const OUTER_ENDS: [&str; 3] = ["</tool_call>", "</function_calls>", "</invoke>"];

/// Reads a text.
pub(super) fn parse(text: &str, tools: Tools<'_>) -> Said {
    let text = without_thinking(text).trim();
    let mut search = Search {
        tools,
        found: Found::default(),
        left: text.len() * READINGS + MIN_READ,
    };
    search.text(text, Dialect::Json, false);
    if search.found.len() == 0 {
        python::calls(text, tools, Dialect::Json, &mut search.found);
    }
    search.found.said(marked::final_words(text))
}

/// What comes after a model's thinking, where a server left that in the text.
fn without_thinking(text: &str) -> &str {
    const END: &str = "</think>";
    let Some(at) = text.find(END) else {
        return text;
    };
    let after = &text[at + END.len()..];
    // Templates may open it themselves, so that only its end is in the answer, on a line of its own.
    let alone = after.is_empty() || after.starts_with(['\n', '\r']);
    if alone || text.trim_start().starts_with("<think>") {
        after
    } else {
        text
    }
}

struct Search<'a> {
    tools: Tools<'a>,
    found: Found,
    /// What may still be read, in bytes.
    left: usize,
}

impl<'a> Search<'a> {
    /// `fenced`: the text is a block already.
    fn text(&mut self, text: &str, dialect: Dialect, fenced: bool) {
        let mut at = 0;
        while let Some(next) = text[at..].find(['{', '[', '<', '`']) {
            at += next;
            let rest = &text[at..];
            let used = match rest.as_bytes().first() {
                Some(b'{' | b'[') => self.json(rest, dialect, at == 0),
                Some(b'<') => self.tag(rest),
                _ if fenced => None,
                _ => self.fence(rest),
            };
            // The byte that was found is ASCII.
            at += used.unwrap_or(1).max(1);
            if self.left == 0 {
                return;
            }
        }
    }

    fn read(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// JSON at the start of a text; `first`: at the start of all of it.
    fn json(&mut self, text: &str, dialect: Dialect, first: bool) -> Option<usize> {
        if let Some(marked) = marked::at_start(text) {
            return Some(self.marked(marked));
        }
        let mut start = Reader::new(text);
        let of_objects = start.takes(b'[') && start.peek() == Some(b'{');
        let of_keys = start.at() == 0 && start.takes(b'{') && matches!(start.peek(), Some(b'"' | b'\''));
        self.read(start.at());
        if !of_objects && !of_keys {
            return None;
        }
        let mut reader = Reader::new(text);
        let value = reader.value();
        self.read(reader.at());
        match value {
            Ok(value) => {
                let place = if first && reader.rest().is_empty() {
                    Place::Alone
                } else {
                    Place::Passing
                };
                object::calls(value, place, self.tools, dialect, &mut self.found);
                Some(reader.at())
            }
            Err(fault) => {
                let tool = self.begun(text)?;
                self.found.add(None, Err(tool.refusal(fault.into())), dialect);
                Some(fault.at)
            }
        }
    }

    /// The tool that an object calls whose end cannot be read.
    fn begun(&mut self, text: &str) -> Option<&'a super::KnownTool<'a>> {
        let mut reader = Reader::new(text);
        reader.takes(b'[');
        reader.takes(b'{').then_some(())?;
        let mut strings = Vec::new();
        while strings.len() < 3 {
            let Ok(Value::String(string)) = reader.value() else {
                break;
            };
            strings.push(string);
            if !reader.takes(b':') && !reader.takes(b',') {
                break;
            }
        }
        self.left = self.left.saturating_sub(reader.at());
        match strings.as_slice() {
            [key, name, arguments] if object::names(key, arguments) => self.tools.named(name),
            _ => None,
        }
    }

    fn tag(&mut self, text: &str) -> Option<usize> {
        if let Some(marked) = marked::at_start(text) {
            return Some(self.marked(marked));
        }
        let tag = xml::tag(text)?;
        let inner = &text[tag.len..];
        let naming = NAMING_TAGS.contains(&tag.name) && tag.value.is_some();
        let calls = CALL_TAGS.contains(&tag.name);
        let known = self.tools.named(tag.name).filter(|_| tag.value.is_none());
        if !naming && !calls && known.is_none() {
            return None;
        }
        let (body, used) = xml::until_closed(inner, tag, naming || calls);
        self.read(used);
        let used = tag.len + used;
        match (tag.value, known) {
            (Some(name), _) if naming => self.tagged(name, body).then_some(used),
            _ if calls => Some(self.call_tag(inner, body).map_or(used, |read| tag.len + read)),
            (_, Some(tool)) => {
                let body = body.trim();
                let arguments = match body.as_bytes().first() {
                    Some(b'{') => object::arguments_text(body).ok(),
                    Some(b'<') => xml::arguments(body),
                    _ => None,
                };
                self.read(body.len());
                let arguments = arguments.filter(|arguments| tool.fits(arguments))?;
                self.found
                    .add(None, Ok((tool.name.to_owned(), arguments)), Dialect::Xml);
                Some(used)
            }
            _ => None,
        }
    }

    /// What stands in a tag for calls; how much of `inner` it was, where a value had the closing tag in it.
    fn call_tag(&mut self, inner: &str, body: &str) -> Option<usize> {
        if inner.trim_start().starts_with(['{', '[']) {
            let mut closed = Reader::new(body);
            let cut = closed.value().is_err();
            let mut open = Reader::new(inner);
            if let (true, Ok(value)) = (cut, open.value()) {
                self.read(open.at());
                object::calls(value, Place::Call, self.tools, Dialect::Xml, &mut self.found);
                return Some(open.at());
            }
            self.read(closed.at() + open.at());
        }
        self.meant(body, Dialect::Xml);
        None
    }

    /// `<function=grep>...</function>`; whether it was a call.
    fn tagged(&mut self, name: &str, body: &str) -> bool {
        let ends = OUTER_ENDS.iter().filter_map(|end| body.find(end)).min();
        let body = body[..ends.unwrap_or(body.len())].trim();
        let known = self.tools.meant(name);
        let arguments = match body.as_bytes().first() {
            None => Ok(serde_json::Map::new()),
            Some(b'<') => xml::arguments(body).ok_or(ArgumentsFault::Tags),
            Some(_) => object::arguments_text(body),
        };
        self.read(body.len());
        let made = match (known, arguments) {
            (Ok(tool), Ok(arguments)) => Ok((tool.name.to_owned(), arguments)),
            (Ok(tool), Err(fault)) if body.starts_with(['<', '{', '[']) => Err(tool.refusal(fault)),
            // Somebody else's tag.
            (Err(error), Ok(arguments)) if !arguments.is_empty() => Err(error),
            _ => return false,
        };
        self.found.add(None, made, Dialect::Xml);
        true
    }

    fn fence(&mut self, text: &str) -> Option<usize> {
        let fence = fence::at_start(text)?;
        let body = fence.body.trim();
        self.read(fence.len);
        match fence.kind {
            fence::Kind::Code if fence.closed => {}
            fence::Kind::Code => return Some(fence.head),
            fence::Kind::Call => self.meant(body, Dialect::Fenced),
            fence::Kind::Any => {
                let before = self.found.len();
                self.text(body, Dialect::Fenced, true);
                if self.found.len() == before {
                    python::calls(body, self.tools, Dialect::Fenced, &mut self.found);
                }
            }
        }
        Some(fence.len)
    }

    fn marked(&mut self, marked: Marked<'_>) -> usize {
        match marked {
            Marked::Calls(calls, used) => {
                self.meant(calls, Dialect::Marked);
                self.read(used);
                used
            }
            Marked::Named(name, arguments, used) => {
                self.named(name, arguments, Dialect::Marked);
                self.read(used);
                used
            }
        }
    }

    fn named(&mut self, name: &str, arguments: &str, dialect: Dialect) {
        let arguments = unfenced(arguments);
        let made = self.tools.meant(name).and_then(|tool| {
            let read = if arguments.starts_with('<') {
                xml::arguments(arguments).ok_or(ArgumentsFault::OpenTag)
            } else {
                object::arguments_text(arguments)
            };
            let arguments = read.map_err(|fault| tool.refusal(fault))?;
            Ok((tool.name.to_owned(), arguments))
        });
        self.found.add(None, made, dialect);
    }

    /// What stands where only calls do, however they are written.
    fn meant(&mut self, text: &str, dialect: Dialect) {
        let text = unfenced(text);
        self.read(text.len());
        let before = self.found.len();
        match text.as_bytes().first() {
            Some(b'{' | b'[') if self.values(text, dialect) => return,
            Some(b'<') => self.text(text, dialect, true),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'[' | b'#')
                if python::calls(text, self.tools, dialect, &mut self.found) => {}
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
                let mut reader = Reader::new(text);
                let name = reader.name().unwrap_or_default();
                if matches!(reader.peek(), Some(b'{' | b'<')) {
                    self.named(name, reader.rest(), dialect);
                }
            }
            _ => {}
        }
        if self.found.len() == before {
            let shown = format!("{:?}", super::tools::shown(text));
            self.found.add(None, Err(CallError::NoCall { shown }), dialect);
        }
    }

    /// JSON values, one behind the other; whether it was JSON at all.
    fn values(&mut self, text: &str, dialect: Dialect) -> bool {
        let mut reader = Reader::new(text);
        let mut first = true;
        loop {
            while reader.takes(b',') || reader.takes(b';') || !first && (reader.takes(b'}') || reader.takes(b']')) {}
            if !matches!(reader.peek(), Some(b'{' | b'[')) {
                // What comes behind calls are words.
                return !first;
            }
            match reader.value() {
                Ok(value) => object::calls(value, Place::Call, self.tools, dialect, &mut self.found),
                Err(_) if first && text.starts_with('[') && !text[1..].trim_start().starts_with('{') => return false,
                Err(fault) => {
                    self.found.add(None, Err(CallError::Json(fault)), dialect);
                    return true;
                }
            }
            first = false;
        }
    }
}

/// A text without white space and a fence around it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    fence::at_start(text).map_or(text, |fence| fence.body.trim())
}
