use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use muninn_base::{Links, open_regular};
use muninn_wire::WireFormat;
use serde_json::Value;
use thiserror::Error;

use super::client::{Client, Transcript};
use super::{claude, codex, opencode};

/// The largest transcript that is read, in bytes. Claude Code stores each tool result twice, and images.
const MOST_READ: u64 = 32 << 20;

/// The most bytes of messages in a body.
const MOST_BYTES: usize = 6 << 20;

/// A client that is not known.
#[derive(Debug, Error)]
#[error("`{0}` is no known client; write claude-code, codex or opencode")]
pub struct UnknownClient(String);

impl FromStr for Client {
    type Err = UnknownClient;

    fn from_str(name: &str) -> Result<Client, UnknownClient> {
        let each = [Client::ClaudeCode, Client::Codex, Client::Opencode];
        let found = each.into_iter().find(|client| client.name() == name);
        found.ok_or_else(|| UnknownClient(name.to_owned()))
    }
}

/// Why a transcript cannot be read.
#[derive(Debug, Error)]
pub enum TranscriptError {
    /// It cannot be opened or read.
    #[error("cannot read the transcript {}", path.display())]
    Read {
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is a pipe, a device or a directory.
    #[error("the transcript {} is no regular file", .0.display())]
    NotRegular(PathBuf),
    #[error("the transcript {} has {size} bytes; at most {MOST_READ} are read", path.display())]
    TooLarge {
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
}

impl Transcript {
    /// A conversation without messages.
    pub fn empty(client: Client) -> Transcript {
        Transcript { client, ..Transcript::default() }
    }

    /// Reads the file of a client. A file that does not exist is a conversation without messages: clients create it with
    /// the first message. Lines of other kinds, and torn lines, are skipped.
    pub fn read(client: Client, path: &Path) -> Result<Transcript, TranscriptError> {
        let bytes = read_regular(path)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut transcript = Transcript::empty(client);
        for line in bytes.split(|byte| *byte == b'\n') {
            match client {
                Client::ClaudeCode => claude::take(line, &mut transcript),
                Client::Codex => codex::take(line, &mut transcript),
                Client::Opencode => {}
            }
        }
        Ok(transcript)
    }

    /// The messages that a plugin passes, in the client's own form.
    pub fn of_messages(client: Client, messages: &[Value]) -> Transcript {
        let mut transcript = Transcript::empty(client);
        if client == Client::Opencode {
            messages.iter().for_each(|message| opencode::take(message, &mut transcript));
        }
        transcript
    }

    /// The wire format of the messages.
    pub fn format(&self) -> WireFormat {
        match self.client {
            Client::ClaudeCode | Client::Opencode => WireFormat::Messages,
            Client::Codex => WireFormat::Responses,
        }
    }

    /// A request body with the messages, and with a new prompt of the user if there is one. It declares tools that
    /// read files and run commands, as each of these clients has them.
    pub fn body(&self, prompt: Option<&str>) -> Vec<u8> {
        let (tools, list) = match self.format() {
            WireFormat::Responses => (r#"[{"type":"function","name":"exec_command"}]"#, "input"),
            WireFormat::Messages | WireFormat::Chat => (r#"[{"name":"Read"},{"name":"Bash"}]"#, "messages"),
        };
        let prompt = prompt.map(|text| {
            let text = Value::from(text);
            match self.format() {
                WireFormat::Responses => {
                    format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{text}}}]}}"#)
                }
                WireFormat::Messages | WireFormat::Chat => format!(r#"{{"role":"user","content":{text}}}"#),
            }
        });
        let mut body = format!(r#"{{"tools":{tools},"{list}":["#);
        body.reserve(self.bytes + 256);
        for (index, message) in self.messages.iter().chain(&prompt).enumerate() {
            if index > 0 {
                body.push(',');
            }
            body.push_str(message);
        }
        body.push_str("]}");
        body.into_bytes()
    }

    pub(crate) fn push(&mut self, message: impl Into<String>) {
        let message = message.into();
        self.bytes += message.len();
        self.messages.push_back(message);
        if self.bytes > MOST_BYTES {
            while self.bytes > MOST_BYTES / 2 {
                let Some(oldest) = self.messages.pop_front() else { break };
                self.bytes -= oldest.len();
            }
        }
    }

    /// Drops what a compaction replaced.
    pub(crate) fn restart(&mut self) {
        self.messages.clear();
        self.bytes = 0;
    }
}

/// Reads a regular file. The kind is checked before it is opened, because opening a pipe waits for its writer.
fn read_regular(path: &Path) -> Result<Vec<u8>, TranscriptError> {
    let failed = |source| TranscriptError::Read { path: path.to_owned(), source };
    let (file, metadata) = match open_regular(path, Links::Follow) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(TranscriptError::NotRegular(path.to_owned()));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let size = metadata.len();
    if size > MOST_READ {
        return Err(TranscriptError::TooLarge { path: path.to_owned(), size });
    }
    let mut bytes = Vec::new();
    file.take(MOST_READ).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
