//! Tests against a fake server on a real socket, with documented and malformed answers.

mod answers;
mod ending;
mod requests;

use std::sync::Arc;

use muninn_config::{BackendConfig, LimitsConfig};
use muninn_tests::Upstream;
use muninn_text::model::{Message, Tool, ToolInvocation, ToolMode};

use super::*;
use crate::{Backend, Circuits};

const HOUR: Duration = Duration::from_secs(3_600);
const FORMATS: [WireFormat; 3] = [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses];

fn blocking_client() -> BlockingClient {
    rustls::crypto::ring::default_provider().install_default().ok();
    BlockingClient::start(&muninn_base::Supervisor::default(), Duration::from_secs(10)).unwrap()
}

/// A candidate without retries. `adjust` changes its configuration.
fn candidate(url: &str, format: WireFormat, adjust: impl FnOnce(&mut BackendConfig)) -> Candidate {
    let limits = LimitsConfig::default();
    let mut config = BackendConfig::new("local".to_owned(), url.to_owned(), vec![format], &limits);
    config.retries = 0;
    adjust(&mut config);
    let backend = Backend::new(config, &Circuits::local());
    Candidate { backend: Arc::new(backend), format, rename: None }
}

fn model(url: &str, format: WireFormat) -> RemoteModel {
    RemoteModel::new(&blocking_client(), candidate(url, format, |_| {}), "small", &HeaderMap::new())
}

fn tools() -> Vec<Tool> {
    let tool = |name, description: &str, schema: &str| Tool {
        name,
        description: description.to_owned(),
        schema: schema.to_owned(),
        strict: false,
    };
    vec![
        tool(
            "grep",
            "Search by a regular expression.",
            r#"{"type":"object","properties":{"pattern":{"type":"string"},"most":{"type":"integer","maximum":1e3}},"required":["pattern"]}"#,
        ),
        tool("final", "Answer.", r#"{"type":"object","properties":{}}"#),
    ]
}

fn call(id: &str, name: &str, arguments: &str) -> ToolInvocation {
    ToolInvocation { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

/// A question without tools.
fn question() -> ModelRequest<'static> {
    static MESSAGES: std::sync::LazyLock<[Message; 1]> =
        std::sync::LazyLock::new(|| [Message::User("Where is it?".to_owned())]);
    ModelRequest {
        system: "Be brief.",
        messages: &*MESSAGES,
        tools: &[],
        choice: ToolMode::Auto,
        shape: None,
        max_tokens: 512,
    }
}

fn ask(model: &RemoteModel) -> Result<Reply, ModelError> {
    model.ask(&question(), &Until::within(HOUR))
}
