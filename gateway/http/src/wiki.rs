//! `/api/digest` and `/api/wiki/`: the team's wiki of the served repository, as JSON.
//!
//! Who may read and who may write is in the table of doors.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Extension, Path, State};
use axum::routing::{get, post};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use muninn_backend::access::{Caller, Door};
use muninn_core::{Wiki, Workspace};
use muninn_notebooks::wiki::{PageChange, PagePath, WikiError};
use muninn_text::redact;
use muninn_wire::lenient;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::gate::Route;
use super::{Worker, reply};

/// The most bytes of a request: a page of the largest size as a JSON string.
const MAX_BODY_BYTES: usize = 9 << 20;
/// The number of found pages if the request names none.
const FOUND: usize = 20;

pub(super) fn routes() -> Vec<Route> {
    let read = |path, service| Route::new(path, Door::ReadWiki, service);
    let limit = DefaultBodyLimit::max(MAX_BODY_BYTES);
    let page = "/api/wiki/pages/{*page}";
    vec![
        read("/api/digest", get(digest)),
        read("/api/wiki/context", get(context)),
        read("/api/wiki/pages", get(list)),
        read(page, get(show)),
        read("/api/wiki/backlinks/{*page}", get(backlinks)),
        read("/api/wiki/links", get(links)),
        read("/api/wiki/search", get(search)),
        Route::new(page, Door::WriteWiki, post(create).put(update).delete(delete).layer(limit)),
        Route::new("/api/wiki/move", Door::WriteWiki, post(rename).layer(limit)),
    ]
}

/// Why a request is refused.
enum Refusal {
    /// The caller's key does not allow the repository.
    Repository,
    /// The body or the query is malformed.
    Malformed(String),
    /// The wiki's error.
    Wiki(WikiError),
    /// The work panicked.
    Failed,
}

impl From<WikiError> for Refusal {
    fn from(error: WikiError) -> Self {
        Refusal::Wiki(error)
    }
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Refusal::Repository => StatusCode::FORBIDDEN,
            Refusal::Malformed(_) => StatusCode::BAD_REQUEST,
            Refusal::Failed => StatusCode::INTERNAL_SERVER_ERROR,
            Refusal::Wiki(error) => match error {
                WikiError::NotAllowed => StatusCode::FORBIDDEN,
                WikiError::NoFolder(_) | WikiError::NoPage { .. } => StatusCode::NOT_FOUND,
                WikiError::Exists(_) => StatusCode::CONFLICT,
                WikiError::Changed { .. } => StatusCode::PRECONDITION_FAILED,
                WikiError::Full(_) => StatusCode::PAYLOAD_TOO_LARGE,
                WikiError::Path(_)
                | WikiError::Secret
                | WikiError::FrontMatter(_)
                | WikiError::FrontMatterKey(_)
                | WikiError::NotUtf8(_)
                | WikiError::Link { .. } => StatusCode::BAD_REQUEST,
                WikiError::Read { .. } | WikiError::Write(_) | WikiError::State { .. } => {
                    StatusCode::INTERNAL_SERVER_ERROR
                }
            },
        }
    }

    fn reason(&self) -> String {
        match self {
            Refusal::Repository => "the access key does not allow this repository".to_owned(),
            Refusal::Malformed(reason) => reason.clone(),
            Refusal::Wiki(error) => error.to_string(),
            Refusal::Failed => "the request failed inside Muninn".to_owned(),
        }
    }
}

/// Answers a request with the result of some work on the wiki, which may block.
async fn answer<T: Serialize + Send + 'static>(
    worker: &Worker,
    caller: &Caller,
    work: impl FnOnce(&Wiki) -> Result<T, WikiError> + Send + 'static,
) -> Response<Body> {
    answer_with(worker, caller, |_, wiki| work(wiki)).await
}

/// The same, with the workspace.
async fn answer_with<T: Serialize + Send + 'static>(
    worker: &Worker,
    caller: &Caller,
    work: impl FnOnce(&Workspace, &Wiki) -> Result<T, WikiError> + Send + 'static,
) -> Response<Body> {
    let workspace = Arc::clone(&worker.app.workspace);
    let answered = if caller.may_use_root(&workspace.root) {
        let caller = caller.clone();
        let run = move || work(&workspace, &*workspace.wiki(&caller)?);
        let run = tokio::task::spawn_blocking(run).await;
        run.map_err(|_| Refusal::Failed).and_then(|answered| Ok(answered?))
    } else {
        Err(Refusal::Repository)
    };
    match answered.and_then(|answer| serde_json::to_value(answer).map_err(|_| Refusal::Failed)) {
        Ok(mut body) => {
            redact_texts(&mut body);
            reply::json(StatusCode::OK, body.to_string())
        }
        Err(refusal) => {
            let mut reason = refusal.reason();
            worker.app.hide_directories(caller, &mut reason);
            reply::json(refusal.status(), json!({"error": reason}).to_string())
        }
    }
}

/// Redacts every text of an answer.
fn redact_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(redacted) = redact(text) {
                *text = redacted;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(redact_texts),
        Value::Object(members) => members.values_mut().for_each(redact_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn refused(refusal: &Refusal) -> Response<Body> {
    reply::json(refusal.status(), json!({"error": refusal.reason()}).to_string())
}

async fn digest(State(worker): State<Worker>, Extension(caller): Extension<Caller>) -> Response<Body> {
    answer(&worker, &caller, |wiki| Ok(wiki.digest())).await
}

async fn context(State(worker): State<Worker>, Extension(caller): Extension<Caller>) -> Response<Body> {
    answer(&worker, &caller, |wiki| Ok(wiki.context())).await
}

/// The value of a parameter in the query of a request.
fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let mut parameters = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    parameters.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
}

async fn list(State(worker): State<Worker>, Extension(caller): Extension<Caller>, uri: Uri) -> Response<Body> {
    let prefix = parameter(&uri, "prefix").unwrap_or_default();
    answer(&worker, &caller, move |wiki| Ok(wiki.list(&prefix))).await
}

async fn search(State(worker): State<Worker>, Extension(caller): Extension<Caller>, uri: Uri) -> Response<Body> {
    let Some(query) = parameter(&uri, "query") else {
        return refused(&Refusal::Malformed("`query` is missing: name the words to search".to_owned()));
    };
    let limit = match parameter(&uri, "limit").map(|limit| limit.parse::<usize>()) {
        None => FOUND,
        Some(Ok(limit)) => limit,
        Some(Err(_)) => return refused(&Refusal::Malformed("`limit` is no number".to_owned())),
    };
    answer_with(&worker, &caller, move |workspace, wiki| Ok(workspace.search_pages(wiki, &query, limit))).await
}

async fn links(State(worker): State<Worker>, Extension(caller): Extension<Caller>) -> Response<Body> {
    let links = |wiki: &Wiki| Ok(json!({"broken": wiki.broken(), "orphans": wiki.orphans()}));
    answer(&worker, &caller, links).await
}

async fn backlinks(
    State(worker): State<Worker>,
    Extension(caller): Extension<Caller>,
    Path(page): Path<String>,
) -> Response<Body> {
    answer(&worker, &caller, move |wiki| wiki.backlinks(&page)).await
}

async fn show(
    State(worker): State<Worker>,
    Extension(caller): Extension<Caller>,
    Path(page): Path<String>,
) -> Response<Body> {
    answer(&worker, &caller, move |wiki| wiki.show(&page)).await
}

/// The body of a page that is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageBody {
    content: String,
}

#[derive(Serialize)]
struct WrittenPage {
    path: PagePath,
    etag: String,
}

fn parsed<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Refusal> {
    let text = lenient(body).map_err(|error| Refusal::Malformed(format!("the body: {error}")))?;
    serde_json::from_str(&text).map_err(|error| Refusal::Malformed(format!("the body: {error}")))
}

/// The body of a change of a page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeBody {
    content: Option<String>,
    frontmatter: Option<Map<String, Value>>,
}

async fn create(
    State(worker): State<Worker>,
    Extension(caller): Extension<Caller>,
    Path(page): Path<String>,
    body: Bytes,
) -> Response<Body> {
    let written: PageBody = match parsed(&body) {
        Ok(written) => written,
        Err(refusal) => return refused(&refusal),
    };
    let create = move |wiki: &Wiki| {
        let path = wiki.create(&page, &written.content)?;
        let etag = wiki.show(path.as_str())?.etag;
        Ok(WrittenPage { path, etag })
    };
    let mut response = answer(&worker, &caller, create).await;
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::CREATED;
    }
    response
}

async fn update(
    State(worker): State<Worker>,
    Extension(caller): Extension<Caller>,
    Path(page): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let written: ChangeBody = match parsed(&body) {
        Ok(written) => written,
        Err(refusal) => return refused(&refusal),
    };
    if written.content.is_none() && written.frontmatter.is_none() {
        return refused(&Refusal::Malformed("the body: content or frontmatter is missing".to_owned()));
    }
    let etag = headers.get(header::IF_MATCH).map(HeaderValue::as_bytes);
    let etag = etag.map(|etag| String::from_utf8_lossy(etag).trim_matches('"').to_owned());
    let update = move |wiki: &Wiki| {
        let path = PagePath::new(&page)?;
        let change = PageChange { text: written.content.as_deref(), front_matter: written.frontmatter.as_ref() };
        let etag = wiki.update(&page, &change, etag.as_deref())?;
        Ok(WrittenPage { path, etag })
    };
    answer(&worker, &caller, update).await
}

async fn delete(
    State(worker): State<Worker>,
    Extension(caller): Extension<Caller>,
    Path(page): Path<String>,
) -> Response<Body> {
    answer(&worker, &caller, move |wiki| wiki.delete(&page)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveBody {
    from: String,
    to: String,
}

async fn rename(State(worker): State<Worker>, Extension(caller): Extension<Caller>, body: Bytes) -> Response<Body> {
    match parsed(&body) {
        Ok(MoveBody { from, to }) => answer(&worker, &caller, move |wiki| wiki.rename(&from, &to)).await,
        Err(refusal) => refused(&refusal),
    }
}
