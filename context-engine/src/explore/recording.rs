//! Recording the replies of a model, so that an exploration can be repeated without the model.
//!
//! A reply is found by the exploration's question and scope, and by the number of its turn. Tool results are not
//! recorded. A replay runs the tools on the current repository, so that it shows the effect of changed tools.

use std::io::{self, BufRead, Write};

use muninn_base::Until;
use muninn_text::model::{Message, Model, ModelError, ModelRequest, Reply};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::prompt;

/// The recorded replies of one run. They are written as one JSON object per line.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    model: String,
    exchanges: Vec<Exchange>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Exchange {
    model: String,
    asked: String,
    turn: usize,
    reply: Reply,
}

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot read the recording")]
    Read(#[from] io::Error),
    /// A line is malformed.
    #[error("line {line} of the recording is not a recorded reply")]
    Line {
        /// The line number, counted from 1.
        line: usize,
        source: serde_json::Error,
    },
}

impl Recording {
    /// Reads a recording in the format of [`Self::write`].
    ///
    /// # Errors
    /// [`RecordingError`] with the malformed line.
    pub fn read(from: impl BufRead) -> Result<Self, RecordingError> {
        let mut exchanges = Vec::new();
        for (at, line) in from.lines().enumerate() {
            let line = line?;
            let exchange = serde_json::from_str(&line);
            exchanges.push(exchange.map_err(|source| RecordingError::Line { line: at + 1, source })?);
        }
        let model = exchanges.first().map_or_else(String::new, |first: &Exchange| first.model.clone());
        Ok(Self { model, exchanges })
    }

    /// Writes the recording, one line for each reply.
    ///
    /// # Errors
    /// Returns the errors of the writer.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        for exchange in &self.exchanges {
            serde_json::to_writer(&mut to, exchange)?;
            to.write_all(b"\n")?;
        }
        to.flush()
    }
}

/// Replays the recorded replies. A question that was not recorded is an error.
impl Model for Recording {
    fn id(&self) -> &str {
        &self.model
    }

    fn ask(&self, ask: &ModelRequest<'_>, _: &Until) -> Result<Reply, ModelError> {
        let (asked, turn) = key(ask);
        let found = self.exchanges.iter().find(|exchange| exchange.asked == asked && exchange.turn == turn);
        found.map(|exchange| exchange.reply.clone()).ok_or_else(|| ModelError::Unusable {
            model: self.model.clone(),
            reason: format!("turn {turn} of this exploration was not recorded"),
        })
    }
}

/// A model wrapper that records the replies.
pub struct Recorder<'m> {
    model: &'m dyn Model,
    exchanges: Mutex<Vec<Exchange>>,
}

impl<'m> Recorder<'m> {
    /// Wraps a model.
    pub fn of(model: &'m dyn Model) -> Self {
        let exchanges = Mutex::default();
        Self { model, exchanges }
    }

    /// Returns the recorded replies, in order of arrival.
    pub fn finish(self) -> Recording {
        Recording { model: self.model.id().to_owned(), exchanges: self.exchanges.into_inner() }
    }
}

impl Model for Recorder<'_> {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn ask(&self, ask: &ModelRequest<'_>, until: &Until) -> Result<Reply, ModelError> {
        let reply = self.model.ask(ask, until)?;
        let (asked, turn) = key(ask);
        let mut exchanges = self.exchanges.lock();
        exchanges.push(Exchange {
            model: self.model.id().to_owned(),
            asked: asked.to_owned(),
            turn,
            reply: reply.clone(),
        });
        Ok(reply)
    }
}

/// Returns the exploration's question with its scope, and the number of the turn, counted from 1.
fn key<'a>(ask: &ModelRequest<'a>) -> (&'a str, usize) {
    let opening = match ask.messages.first() {
        Some(Message::User(opening)) => prompt::question_and_scope(opening),
        _ => "",
    };
    let replies = ask.messages.iter().filter(|message| matches!(message, Message::Assistant { .. }));
    (opening, replies.count() + 1)
}
