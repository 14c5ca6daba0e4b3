use muninn_text::model::Reply;
use serde_json::Value;

use super::parsed::{Found, Made, Malformed, ParsedCall, Said};
use super::text;
use super::tools::{self, KnownTool};

/// Maximum number of calls that are read from one answer. A turn makes a few calls.
const MAX_CALLS: usize = 4_096;

/// Maximum number of errors that are reported to the model.
const MAX_MALFORMED: usize = 16;

/// Reads an answer. Where it has native calls, its text is what the model says beside them and is not looked through.
pub(crate) fn parse(reply: &Reply, tools: &[KnownTool<'_>]) -> Said {
    let tools = tools::Tools(tools);
    if reply.calls.is_empty() {
        return text::parse(&reply.text, tools);
    }
    let mut found = Found::default();
    for call in &reply.calls {
        let id = Some(call.id.clone()).filter(|id| !id.is_empty());
        let made = tools.meant(&call.name).and_then(|tool| tool.call(Value::String(call.arguments.clone())));
        found.add(id, made);
    }
    found.said(&reply.text)
}

impl Found {
    pub(crate) fn add(&mut self, id: Option<String>, made: Made) {
        match made {
            Ok((name, arguments)) if self.calls.len() < MAX_CALLS => {
                self.calls.push(ParsedCall { id, name, arguments });
            }
            // One that is awaited by its id is always answered.
            Err(error) if id.is_some() || self.malformed.len() < MAX_MALFORMED => {
                self.malformed.push(Malformed { id, error });
            }
            Ok(_) | Err(_) => {}
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.malformed.is_empty()
    }

    pub(crate) fn said(self, text: &str) -> Said {
        if self.is_empty() {
            return Said::Final(text.trim().to_owned());
        }
        Said::Calls { calls: self.calls, malformed: self.malformed }
    }
}

#[cfg(test)]
mod tests;
