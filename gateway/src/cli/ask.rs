//! `muninn ask`: sends one question through a temporary gateway, over HTTP, and prints the answer and its receipt.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use muninn_backend::CONTEXT_MODEL;
use muninn_context_engine::tokens;
use muninn_core::{ReceiptError, find_receipt};
use muninn_http::{REQUEST_ID, Server};
use muninn_ledger::Receipt;
use serde_json::{Value, json};

use super::progress::ProgressLine;
use super::{CliError, Common, Exit, examples, log, output, why};

/// The header that names a session.
const SESSION: &str = "x-muninn-session";
/// The most models that an error lists.
const SHOWN: usize = 20;
const CONNECT: Duration = Duration::from_secs(5);

/// Ask a model one question about this repository
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn ask \"Where are requests retried?\"", "Ask the configured or discovered model"),
    ("muninn ask --model muninn/context \"Where are requests retried?\"", "Show the context that a model would get"),
    ("muninn ask --json --max-tokens 500 \"What does parse_invoice return?\"", "Answer and receipt as JSON"),
]))]
pub(crate) struct Ask {
    /// The question
    question: String,
    /// The model to ask [default: the configured or discovered model, else `muninn/context`]
    #[arg(long)]
    model: Option<String>,
    /// Limit the answer to this many tokens [default: the backend's limit]
    #[arg(long)]
    max_tokens: Option<u32>,
    /// Print one JSON object: answer, model, request_id, receipt
    #[arg(long)]
    json: bool,
}

impl Ask {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        log::to_stderr("warn");
        let mut config = common.configuration(Some("127.0.0.1:0".to_owned()))?;
        // Access keys protect a shared gateway. This gateway serves one question of its own user.
        config.keys.clear();
        let server = Server::start(config, &common.directory()?, |_| Vec::new())?;
        if let Some(problem) = &server.app().workspace.problem {
            return Err(CliError::no_repository(problem));
        }
        index(&server)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (answer, id, model) = runtime.block_on(self.ask(&server))?;
        let receipt = match server.app().store.as_deref().map(|store| find_receipt(store, &id)) {
            Some(Ok(receipt)) => Some(receipt),
            Some(Err(ReceiptError::Store(error))) => return Err(error.into()),
            Some(Err(ReceiptError::Id(_))) | None => None,
        };
        self.report(&answer, &id, &model, receipt.as_ref());
        server.shut_down();
        Ok(ExitCode::SUCCESS)
    }

    async fn ask(&self, server: &Server) -> Result<(String, String, String), CliError> {
        let client = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT).build().map_err(http_failed)?;
        let model = match &self.model {
            Some(model) => model.clone(),
            None => default_model(server, &client).await?,
        };
        output::note(&format!("asking {model} through http://{}", server.address()));
        let mut request = json!({
            "model": model, "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": self.question}],
        });
        if let Some(limit) = self.max_tokens {
            request["max_tokens"] = json!(limit);
        }
        let url = format!("http://{}/v1/chat/completions", server.address());
        let answer = client
            .post(url)
            .header("content-type", "application/json")
            // Each question is a new session, so that nothing is replayed when the same question is asked again.
            .header(SESSION, ulid::Ulid::generate().to_string())
            .body(request.to_string())
            .send()
            .await
            .map_err(http_failed)?;
        let id = answer.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
        if !answer.status().is_success() {
            let status = answer.status();
            let body = answer.text().await.map_err(http_failed)?;
            return Err(CliError::new(Exit::Failure, format!("{status}: {}", error_message(&body))));
        }
        let text = self.read_stream(answer).await?;
        Ok((text, id, model))
    }

    /// Prints the answer as it arrives, and returns all of it.
    async fn read_stream(&self, answer: reqwest::Response) -> Result<String, CliError> {
        let mut events = answer.bytes_stream().eventsource();
        let mut text = String::new();
        while let Some(event) = events.next().await {
            let event =
                event.map_err(|error| CliError::new(Exit::Failure, format!("the answer ended early: {error}")))?;
            if event.data == "[DONE]" {
                break;
            }
            let chunk: Value = serde_json::from_str(&event.data).unwrap_or_default();
            if let Some(error) = chunk.get("error") {
                return Err(CliError::new(Exit::Failure, format!("the backend sent an error: {error}")));
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

/// The model of a question that names none: the configured or discovered one, else the only one that is listed.
async fn default_model(server: &Server, client: &reqwest::Client) -> Result<String, CliError> {
    let router = &server.app().settings().router;
    output::announce_servers(router).await;
    if let Some((_, model)) = router.default_model().await {
        return Ok(model);
    }
    if router.backends().is_empty() {
        return Ok(CONTEXT_MODEL.to_owned());
    }
    let url = format!("http://{}/v1/models", server.address());
    let listed = client.get(url).send().await.map_err(http_failed)?.text().await.map_err(http_failed)?;
    let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
    let models = listed["data"].as_array().into_iter().flatten();
    let models = models.filter_map(|model| Some((model["id"].as_str()?, model["owned_by"].as_str()?)));
    let models: Vec<_> = models.filter(|(id, _)| *id != CONTEXT_MODEL).collect();
    match models.as_slice() {
        [(only, _)] => Ok((*only).to_owned()),
        [] => {
            let error = CliError::new(Exit::Usage, "no backend lists a model");
            Err(error.hint("name one with `--model`, or set `default_model` of a backend"))
        }
        several => {
            let shown = several.iter().take(SHOWN).map(|(id, backend)| format!("{id} ({backend})"));
            let shown = shown.collect::<Vec<_>>().join(", ");
            let more = several.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let error = CliError::new(Exit::Usage, format!("several models are connected: {shown}{more}"));
            Err(error.hint("name one with `--model`, or set `default_model` of a backend"))
        }
    }
}

/// Updates the index before the question is sent.
fn index(server: &Server) -> Result<(), CliError> {
    let progress = ProgressLine::new();
    let warming = std::thread::spawn(tokens::warm);
    let report = server.app().workspace.refresh(&progress);
    progress.finish();
    // A panic while warming costs only time.
    warming.join().ok();
    if let Some(report) = report.map_err(|error| CliError::new(Exit::Failure, error.to_string()))? {
        output::note(&super::index::summary(&report));
    }
    Ok(())
}

fn http_failed(error: reqwest::Error) -> CliError {
    CliError::new(Exit::Failure, format!("the gateway did not answer: {error}"))
}

/// Returns the message in an error body of any wire format, or the body itself.
fn error_message(body: &str) -> String {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    parsed.pointer("/error/message").and_then(Value::as_str).map_or_else(|| body.to_owned(), str::to_owned)
}
