//! A language model that is asked to do a chore: to explore a repository, to sum up a session, to settle a doubt.
//!
//! Declared here, on the lowest floor that has a use for one, and made in the gateway over its backends, which alone know
//! HTTP and wire formats. Whoever asks brings the whole conversation each time; nothing is kept between two calls.

pub(crate) mod answer;

use std::future::{self, Future};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use muninn_repo_tools::Until;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A model. May be called from any thread, several at a time.
pub trait Model: Send + Sync {
    /// Its name for receipts: backend and model, `local/qwen3-coder`.
    fn id(&self) -> &str;

    /// Asks for the next message of a conversation, and blocks until it is there.
    ///
    /// Returns within a few milliseconds of [`Until::is_over`], whatever the model does; the call is then cancelled at the
    /// backend too.
    ///
    /// # Errors
    /// [`ModelError`]. No call is tried twice here: what a failure is worth is for the caller to say.
    fn ask(&self, ask: &Ask<'_>, until: &Until) -> Result<Reply, ModelError>;

    /// [`Self::ask`] for callers that must not hold a thread while they wait. Dropping the future cancels the call. The
    /// default is for models that answer without waiting: it asks at once.
    fn ask_async<'a>(&'a self, ask: &'a Ask<'a>, until: &'a Until) -> PendingReply<'a> {
        Box::pin(future::ready(self.ask(ask, until)))
    }
}

/// The answer of a model, which may take as long as its caller waits.
pub type PendingReply<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;

/// Runs a future to its end on this thread, which sleeps while the future waits.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct ThreadWaker(Thread);

    impl Wake for ThreadWaker {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

impl std::fmt::Debug for dyn Model + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// The instructions.
    pub system: &'a str,
    /// The conversation, oldest first. The last message is never the model's.
    pub messages: &'a [Message],
    /// What it may call; where this is empty, the request says nothing of tools.
    pub tools: &'a [Tool],
    /// Whether it must.
    pub choice: Choice,
    /// The shape that its words are to have, where the backend can hold it to one.
    pub shape: Option<&'a Shape>,
    /// The longest answer, in the model's tokens.
    pub max_tokens: u32,
}

/// What an answer is to look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// A name for it.
    pub name: &'static str,
    /// A JSON schema. The strictest backends want every member required and none beside them.
    pub schema: String,
}

/// A message of the conversation with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Words to the model.
    User(String),
    /// What the model said and called.
    Assistant {
        /// Its words; may be empty.
        text: String,
        /// Its calls, in order.
        calls: Vec<Call>,
    },
    /// What came of the calls of the message before, each once.
    Results(Vec<CallResult>),
}

/// A call that a model made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its id, which its result names.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them, JSON where it behaves.
    pub arguments: String,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The call's id.
    pub id: String,
    /// What the tool says.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// Something that a model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: String,
    /// Whether the backend is to hold the arguments to the schema to the letter, where it can. The strictest want every
    /// parameter required then, and what is optional to be allowed to be null.
    pub strict: bool,
}

/// Whether a model must call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// As it likes.
    #[default]
    Auto,
    /// One or more, of its choice.
    Required,
    /// This one.
    Named(&'static str),
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// Its words, without its thinking; may be empty.
    pub text: String,
    /// Its calls in the format that its backend has for them.
    pub calls: Vec<Call>,
    /// What it cost, in the model's tokens, as far as the backend says.
    pub usage: Usage,
    /// Whether a bound cut it short.
    pub truncated: bool,
}

/// Tokens of one call to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Of the prompt, cached ones included.
    pub input: Option<u64>,
    /// Of these, read from a cache.
    pub cached: Option<u64>,
    /// Of the answer, thinking included.
    pub output: Option<u64>,
}

/// Why a model did not answer.
#[derive(Debug, Error)]
pub enum ModelError {
    /// Nobody answers there, or the connection broke.
    #[error("{model} cannot be reached: {reason}")]
    Unreachable {
        /// The model's id.
        model: String,
        /// What happened.
        reason: String,
    },
    /// The backend refused the request.
    #[error("{model} refused ({status}): {message}")]
    Refused {
        /// The model's id.
        model: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// What came back is no answer, or is longer than any.
    #[error("{model} gave no usable answer: {reason}")]
    Unusable {
        /// The model's id.
        model: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The time was over, or nobody waits any more.
    #[error("{model} did not answer in time")]
    Over {
        /// The model's id.
        model: String,
    },
}
