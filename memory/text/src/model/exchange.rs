use std::future::{self, Future};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use muninn_base::Until;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A model. Can be called from several threads at once.
pub trait Model: Send + Sync {
    /// The name for receipts: backend and model, `local/qwen3-coder`.
    fn id(&self) -> &str;

    /// Requests the next message of a conversation, and blocks until it arrives.
    ///
    /// Returns within a few milliseconds of [`Until::is_over`], and then cancels the call at the backend.
    ///
    /// # Errors
    /// [`ModelError`]. Callers decide about retries.
    fn ask(&self, ask: &ModelRequest<'_>, until: &Until) -> Result<Reply, ModelError>;

    /// [`Self::ask`] without blocking a thread. Dropping the future cancels the call. The default implementation blocks
    /// in [`Self::ask`] before it returns the future.
    fn ask_async<'a>(&'a self, ask: &'a ModelRequest<'a>, until: &'a Until) -> PendingReply<'a> {
        Box::pin(future::ready(self.ask(ask, until)))
    }
}

/// A pending answer of a model.
pub type PendingReply<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;

/// Runs a future to completion on this thread, which sleeps while the future waits.
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

#[derive(Debug, Clone)]
pub struct ModelRequest<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation, oldest first. The last message is a [`Message::User`] or [`Message::Results`].
    pub messages: &'a [Message],
    /// Tools that the model may call. If empty, the request does not mention tools.
    pub tools: &'a [Tool],
    /// Whether the model must call a tool.
    pub choice: ToolMode,
    /// The JSON schema of the answer, if the backend supports structured output.
    pub shape: Option<&'a AnswerSchema>,
    /// Maximum tokens of the answer.
    pub max_tokens: u32,
}

/// The format of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerSchema {
    /// The name of the format.
    pub name: &'static str,
    /// A JSON schema. The strictest backends need every member required and no additional ones.
    pub schema: String,
}

/// A message of the conversation with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Text to the model.
    User(String),
    /// A message of the model.
    Assistant {
        /// Text; can be empty.
        text: String,
        /// Tool calls, in order.
        calls: Vec<ToolInvocation>,
    },
    /// Results of the previous message's tool calls, one for each call.
    Results(Vec<ToolOutput>),
}

/// A tool call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInvocation {
    /// The call's id, which its result refers to.
    pub id: String,
    pub name: String,
    /// The arguments as the model wrote them. They can be invalid JSON.
    pub arguments: String,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The call's id.
    pub id: String,
    /// The tool's output.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    pub name: &'static str,
    /// The description for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: String,
    /// Whether the backend must enforce the schema, if it can. The strictest backends then need every parameter
    /// required, and optional ones nullable.
    pub strict: bool,
}

/// Whether a model must call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolMode {
    /// The model decides.
    #[default]
    Auto,
    /// At least one tool call.
    Required,
    /// A call of this tool.
    Named(&'static str),
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// Text without thinking; can be empty.
    pub text: String,
    /// Native tool calls.
    pub calls: Vec<ToolInvocation>,
    /// Tokens used, as reported by the backend.
    pub usage: Usage,
    /// Whether a limit truncated it.
    pub truncated: bool,
}

/// Tokens of one call to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub input: Option<u64>,
    /// Prompt tokens that were read from a cache.
    pub cached: Option<u64>,
    /// Answer tokens, thinking included.
    pub output: Option<u64>,
}

/// Why a model did not answer.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The backend is unreachable, or the connection broke.
    #[error("{model} cannot be reached: {reason}")]
    Unreachable {
        /// The model's id.
        model: String,
        /// The cause.
        reason: String,
    },
    /// The backend refused the request.
    #[error("{model} refused ({status}): {message}")]
    Refused {
        /// The model's id.
        model: String,
        /// The HTTP status.
        status: u16,
        /// The backend's message.
        message: String,
    },
    /// The response is not an answer, or is too long.
    #[error("{model} gave no usable answer: {reason}")]
    Unusable {
        /// The model's id.
        model: String,
        /// The cause.
        reason: String,
    },
    /// The deadline passed, or the caller cancelled.
    #[error("{model} did not answer in time")]
    Over {
        /// The model's id.
        model: String,
    },
}
