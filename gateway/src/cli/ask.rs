//! `muninn ask`: one question through a gateway of its own, over real HTTP, and its receipt.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use muninn_context_engine::tokens;
use serde_json::{Value, json};

use super::progress::ProgressLine;
use super::{CliError, Common, Exit, output, why};
use crate::app::find_receipt;
use crate::backend::CONTEXT_MODEL;
use crate::http::{REQUEST_ID, Server};
use crate::store::Receipt;

/// The header that names a session.
const SESSION: &str = "x-muninn-session";
const CONNECT: Duration = Duration::from_secs(5);

/// Ask one question about this repository.
#[derive(Args)]
pub(crate) struct Ask {
    /// The question
    question: String,
    /// The model to ask [default: the configured or found one, else `muninn/context`]
    #[arg(long)]
    model: Option<String>,
    /// The longest answer that is asked for, in tokens [default: the backend's own]
    #[arg(long)]
    max_tokens: Option<u32>,
    /// Print one JSON object: answer, model, request_id, receipt
    #[arg(long)]
    json: bool,
}

impl Ask {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("warn");
        let mut config = common.configuration(Some("127.0.0.1:0".to_owned()))?;
        // Keys are for those who share a gateway; this one is the user's own, for one question.
        config.keys.clear();
        let server = Server::start(config, &common.directory()?)?;
        if let Some(problem) = &server.app().workspace.problem {
            return Err(CliError::new(Exit::NotFound, problem.clone())
                .hint("run it inside a git repository, or name one with --root DIR"));
        }
        index(&server)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (answer, id, model) = runtime.block_on(self.ask(&server))?;
        let receipt = match &server.app().store {
            Some(store) => find_receipt(&**store, &id)?,
            None => None,
        };
        self.report(&answer, &id, &model, receipt.as_ref());
        server.shut_down();
        Ok(ExitCode::SUCCESS)
    }

    async fn ask(&self, server: &Server) -> Result<(String, String, String), CliError> {
        let model = match &self.model {
            Some(model) => model.clone(),
            None => server
                .app()
                .settings()
                .router
                .default_model()
                .await
                .map_or_else(|| CONTEXT_MODEL.to_owned(), |(_, model)| model),
        };
        output::note(&format!("asking {model} through http://{}", server.address()));
        let mut request = json!({
            "model": model, "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": self.question}],
        });
        if let Some(limit) = self.max_tokens {
            request["max_tokens"] = json!(limit);
        }
        let client = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(CONNECT)
            .build()
            .map_err(http_failed)?;
        let url = format!("http://{}/v1/chat/completions", server.address());
        let answer = client
            .post(url)
            .header("content-type", "application/json")
            // A question from the command line is a conversation of its own, however often it is asked.
            .header(SESSION, ulid::Ulid::generate().to_string())
            .body(request.to_string())
            .send()
            .await
            .map_err(http_failed)?;
        let id = answer
            .headers()
            .get(REQUEST_ID)
            .and_then(|id| id.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        if !answer.status().is_success() {
            let status = answer.status();
            let body = answer.text().await.map_err(http_failed)?;
            return Err(CliError::new(
                Exit::Failure,
                format!("{status}: {}", error_message(&body)),
            ));
        }
        let text = self.read_stream(answer).await?;
        Ok((text, id, model))
    }

    /// Prints the answer as it comes, and gives it back whole.
    async fn read_stream(&self, answer: reqwest::Response) -> Result<String, CliError> {
        let mut events = answer.bytes_stream().eventsource();
        let mut text = String::new();
        while let Some(event) = events.next().await {
            let event =
                event.map_err(|error| CliError::new(Exit::Failure, format!("the answer broke off: {error}")))?;
            if event.data == "[DONE]" {
                break;
            }
            let chunk: Value = serde_json::from_str(&event.data).unwrap_or_default();
            if let Some(error) = chunk.get("error") {
                return Err(CliError::new(Exit::Failure, format!("the backend stopped: {error}")));
            }
            let Some(piece) = chunk.pointer("/choices/0/delta/content").and_then(Value::as_str) else {
                continue;
            };
            text.push_str(piece);
            if !self.json {
                output::print(piece);
            }
        }
        Ok(text)
    }

    fn report(&self, answer: &str, id: &str, model: &str, receipt: Option<&Receipt>) {
        if self.json {
            output::json(&json!({"answer": answer, "model": model, "request_id": id, "receipt": receipt}));
            return;
        }
        if !answer.ends_with('\n') {
            output::line("");
        }
        if let Some(receipt) = receipt {
            output::line("\n---");
            output::print(&why::short(receipt));
        }
    }
}

/// Brings the index up to date before the question, since there is nobody else to keep waiting.
fn index(server: &Server) -> Result<(), CliError> {
    let progress = ProgressLine::new();
    let warming = std::thread::spawn(tokens::warm);
    let report = server.app().workspace.refresh(&progress);
    progress.finish();
    let _panicked = warming.join();
    if let Some(report) = report.map_err(|error| CliError::new(Exit::Failure, error.to_string()))? {
        output::note(&super::index::summary(&report));
    }
    Ok(())
}

fn http_failed(error: reqwest::Error) -> CliError {
    CliError::new(Exit::Failure, format!("the gateway did not answer: {error}"))
}

/// The message inside an error body of any wire format, or the body itself.
fn error_message(body: &str) -> String {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    parsed
        .pointer("/error/message")
        .and_then(Value::as_str)
        .map_or_else(|| body.to_owned(), str::to_owned)
}
