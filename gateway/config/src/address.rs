//! The address of a backend as users write it, and the addresses that are asked.
//!
//! Vendors print the base of OpenAI's API complete, with whatever version they have, and that of Anthropic's API without one.
//! Users paste either, with `/v1` twice or with the path of a request.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;
use thiserror::Error;

/// The paths of requests, which users paste with the base.
const PATHS: [&str; 8] = [
    "/chat/completions",
    "/completions",
    "/responses/input_tokens",
    "/responses",
    "/messages/count_tokens",
    "/messages",
    "/models",
    "/embeddings",
];

/// Hosts whose base is complete without a version, and the path that an address without one gets. A host that begins with a dot
/// stands for its subdomains.
const COMPLETE_HOSTS: [(&str, &str); 13] = [
    ("api.perplexity.ai", ""),
    ("api.githubcopilot.com", ""),
    (".githubcopilot.com", ""),
    ("models.github.ai", "/inference"),
    ("models.inference.ai.azure.com", ""),
    ("generativelanguage.googleapis.com", "/v1beta/openai"),
    ("api.z.ai", "/api/paas/v4"),
    ("open.bigmodel.cn", "/api/paas/v4"),
    ("ark.cn-beijing.volces.com", "/api/v3"),
    ("gateway.ai.cloudflare.com", ""),
    ("api.kilo.ai", "/api/gateway"),
    ("api.deepinfra.com", "/v1/openai"),
    ("qianfan.baidubce.com", "/v2"),
];

/// Hosts whose API is below a path, before `/v1`, and that path, which an address without one gets.
const ROOTS: [(&str, &str); 14] = [
    ("api.groq.com", "/openai"),
    ("openrouter.ai", "/api"),
    ("eu.openrouter.ai", "/api"),
    ("api.fireworks.ai", "/inference"),
    ("dashscope.aliyuncs.com", "/compatible-mode"),
    (".dashscope.aliyuncs.com", "/compatible-mode"),
    ("dashscope-intl.aliyuncs.com", "/compatible-mode"),
    ("dashscope-us.aliyuncs.com", "/compatible-mode"),
    ("api.cohere.ai", "/compatibility"),
    ("api.venice.ai", "/api"),
    ("api.llama.com", "/compat"),
    ("api.friendli.ai", "/serverless"),
    ("opencode.ai", "/zen"),
    ("zenmux.ai", "/api"),
];

/// Last parts of a path after which no version follows.
const COMPLETE_ENDS: [&str; 5] = ["/compat", "/endpoints/openapi", "/v1/openai", "/v1/solar", "/serving-endpoints"];

/// Hosts of Azure's model services.
const AZURE: [&str; 3] = [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"];

/// Names of parameters that hold a key.
const KEYS: [&str; 10] = [
    "key", "api_key", "api-key", "apikey", "subscription-key", "subscription_key", "token", "access_token", "sig",
    "code",
];

/// Where a backend is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The base without a slash at its end, and without `/v1`.
    pub base: String,
    /// Whether the paths of OpenAI's API follow the base without `/v1`.
    pub is_complete: bool,
    /// The query of each request, without `?`.
    pub query: Option<String>,
}

/// The reason why an address is invalid.
#[derive(Debug, Error)]
pub(crate) enum InvalidAddress {
    #[error("`{url}` is not a URL: {error}")]
    NoUrl { url: String, error: <Url as FromStr>::Err },
    #[error("`{0}` must start with http:// or https:// and contain a host")]
    NoHost(String),
    #[error("contains a credential; use key_env or key_file instead")]
    Credential,
    #[error("`{0}` must not have a fragment")]
    Fragment(String),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.base)
    }
}

impl Address {
    /// The address of a base without `/v1`.
    pub fn of_base(base: String) -> Self {
        Self { base, is_complete: false, query: None }
    }

    /// Reads what a user wrote.
    ///
    /// # Errors
    /// [`InvalidAddress`] with the reason.
    pub(crate) fn read(written: &str) -> Result<Self, InvalidAddress> {
        let url = Url::parse(written).map_err(|error| InvalidAddress::NoUrl { url: written.to_owned(), error })?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(InvalidAddress::NoHost(written.to_owned()));
        }
        let is_key = |name: &str| KEYS.iter().any(|key| name.eq_ignore_ascii_case(key));
        if !url.username().is_empty() || url.password().is_some() || url.query_pairs().any(|(name, _)| is_key(&name)) {
            return Err(InvalidAddress::Credential);
        }
        if url.fragment().is_some() {
            return Err(InvalidAddress::Fragment(written.to_owned()));
        }
        // As the standard writes it, which all parts of a request can parse.
        let text = url.as_str();
        let written_base = text.split_once('?').map_or(text, |(base, _)| base).trim_end_matches('/');
        let host = url.host_str().unwrap_or_default();
        let is_azure = AZURE.iter().any(|end| host.ends_with(end));
        // The models of Azure's inference are a base of their own.
        let pasted = PATHS.iter().find(|path| written_base.ends_with(**path) && !(is_azure && **path == "/models"));
        let base =
            pasted.and_then(|path| written_base.strip_suffix(path)).unwrap_or(written_base).trim_end_matches('/');
        let path = url.path().trim_end_matches('/');
        let path = pasted.and_then(|pasted| path.strip_suffix(pasted)).unwrap_or(path).trim_end_matches('/');
        // What is asked with one request is not part of the others, but for the version of an API.
        let is_kept = |name: &str| pasted.is_none() || name == "api-version";
        let query: Vec<&str> = url.query().into_iter().flat_map(|query| query.split('&')).collect();
        let query =
            query.into_iter().filter(|pair| !pair.is_empty() && is_kept(pair.split('=').next().unwrap_or_default()));
        let query = Some(query.collect::<Vec<_>>().join("&")).filter(|query| !query.is_empty());
        let at = |base: &str, is_complete| Ok(Self { base: base.to_owned(), is_complete, query: query.clone() });
        if let Some(root) = base.strip_suffix("/v1") {
            return at(root.strip_suffix("/v1").unwrap_or(root), false);
        }
        if path.ends_with("/anthropic") {
            return at(base, false);
        }
        let is_host = |known: &str| host == known || known.starts_with('.') && host.ends_with(known);
        let known = COMPLETE_HOSTS.iter().find(|(known, _)| is_host(known));
        if let Some((_, default)) = known {
            return at(&if path.is_empty() { format!("{base}{default}") } else { base.to_owned() }, true);
        }
        if let Some((_, root)) = ROOTS.iter().find(|(known, _)| path.is_empty() && is_host(known)) {
            return at(&format!("{base}{root}"), false);
        }
        if is_azure {
            let is_dated = query.as_deref().is_some_and(|query| query.contains("api-version=20"));
            let is_complete =
                path.ends_with("/models") || path.contains("/openai/deployments/") || path == "/openai" && is_dated;
            return at(&if path.is_empty() { format!("{base}/openai") } else { base.to_owned() }, is_complete);
        }
        let is_openai_path = pasted.is_some_and(|pasted| !pasted.starts_with("/messages"));
        at(base, is_openai_path || ends_with_version(path) || COMPLETE_ENDS.iter().any(|end| path.ends_with(end)))
    }

    /// The address of a path, which begins with `/v1`.
    pub fn of(&self, path: &str) -> String {
        let is_openai = !path.starts_with("/v1/messages");
        let path = if self.is_complete && is_openai { path.strip_prefix("/v1").unwrap_or(path) } else { path };
        match &self.query {
            None => format!("{}{path}", self.base),
            Some(query) => {
                let joint = if path.contains('?') { '&' } else { '?' };
                format!("{}{path}{joint}{query}", self.base)
            }
        }
    }
}

/// Returns whether a base is one of Azure's model services.
pub fn is_azure(base: &str) -> bool {
    let host = Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    AZURE.iter().any(|end| host.ends_with(end))
}

/// Whether the last part of a path is a version other than `v1`: `v4`, `v1beta`.
fn ends_with_version(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.len() < 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_vendors_are_asked_as_they_document_them() {
        let chat = "/v1/chat/completions";
        for (written, path, asked) in [
            ("https://api.openai.com/v1", chat, "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com", "/v1/models", "https://api.openai.com/v1/models"),
            ("https://api.openai.com/v1/chat/completions", chat, "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com/v1/v1/", chat, "https://api.openai.com/v1/chat/completions"),
            ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1/messages", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://api.z.ai/api/paas/v4/", chat, "https://api.z.ai/api/paas/v4/chat/completions"),
            ("https://api.z.ai/api/coding/paas/v4", chat, "https://api.z.ai/api/coding/paas/v4/chat/completions"),
            (
                "https://api.z.ai/api/anthropic",
                "/v1/messages?beta=true",
                "https://api.z.ai/api/anthropic/v1/messages?beta=true",
            ),
            (
                "https://open.bigmodel.cn/api/paas/v4/chat/completions",
                chat,
                "https://open.bigmodel.cn/api/paas/v4/chat/completions",
            ),
            (
                "https://ark.cn-beijing.volces.com/api/v3",
                "/v1/responses",
                "https://ark.cn-beijing.volces.com/api/v3/responses",
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai/",
                chat,
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            ),
            (
                "https://generativelanguage.googleapis.com",
                "/v1/models",
                "https://generativelanguage.googleapis.com/v1beta/openai/models",
            ),
            ("https://models.github.ai/inference", chat, "https://models.github.ai/inference/chat/completions"),
            ("https://api.perplexity.ai", chat, "https://api.perplexity.ai/chat/completions"),
            (
                "https://gateway.ai.cloudflare.com/v1/a/g/compat",
                chat,
                "https://gateway.ai.cloudflare.com/v1/a/g/compat/chat/completions",
            ),
            ("https://api.deepinfra.com/v1/openai", chat, "https://api.deepinfra.com/v1/openai/chat/completions"),
            ("https://api.groq.com/openai/v1", chat, "https://api.groq.com/openai/v1/chat/completions"),
            ("https://openrouter.ai/api/v1", "/v1/messages", "https://openrouter.ai/api/v1/messages"),
            (
                "https://dashscope.aliyuncs.com/compatible-mode/v1",
                chat,
                "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions",
            ),
            ("https://qianfan.baidubce.com/v2", chat, "https://qianfan.baidubce.com/v2/chat/completions"),
            ("https://x.openai.azure.com", "/v1/responses", "https://x.openai.azure.com/openai/v1/responses"),
            (
                "https://x.openai.azure.com/openai/v1/?api-version=preview",
                chat,
                "https://x.openai.azure.com/openai/v1/chat/completions?api-version=preview",
            ),
            (
                "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
                chat,
                "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            ),
            (
                "https://l-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi",
                chat,
                "https://l-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
            ),
            (
                "https://x.services.ai.azure.com/models?api-version=2024-05-01-preview",
                chat,
                "https://x.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
            ),
            (
                "https://x.cognitiveservices.azure.com/openai/deployments/d?api-version=1",
                chat,
                "https://x.cognitiveservices.azure.com/openai/deployments/d/chat/completions?api-version=1",
            ),
            (
                "https://x.openai.azure.com/openai?api-version=2025-04-01-preview",
                "/v1/responses",
                "https://x.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
            ),
            (
                "https://api.individual.githubcopilot.com",
                chat,
                "https://api.individual.githubcopilot.com/chat/completions",
            ),
            (
                "https://gateway.ai.cloudflare.com/v1/a/g/openai",
                chat,
                "https://gateway.ai.cloudflare.com/v1/a/g/openai/chat/completions",
            ),
            ("https://api.z.ai/api/anthropic", "/v1/models", "https://api.z.ai/api/anthropic/v1/models"),
            ("https://api.fireworks.ai/inference", chat, "https://api.fireworks.ai/inference/v1/chat/completions"),
            ("https://api.fireworks.ai/inference/v1", chat, "https://api.fireworks.ai/inference/v1/chat/completions"),
            (
                "https://api.anthropic.com/v1/messages?beta=true",
                "/v1/messages",
                "https://api.anthropic.com/v1/messages",
            ),
            ("https://h/messages-proxy/chat/completions", chat, "https://h/messages-proxy/chat/completions"),
            ("https://api.groq.com", chat, "https://api.groq.com/openai/v1/chat/completions"),
            ("https://openrouter.ai/", "/v1/messages", "https://openrouter.ai/api/v1/messages"),
            ("https://api.fireworks.ai", chat, "https://api.fireworks.ai/inference/v1/chat/completions"),
            (
                "https://dashscope-intl.aliyuncs.com",
                chat,
                "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions",
            ),
            ("https://api.deepinfra.com", chat, "https://api.deepinfra.com/v1/openai/chat/completions"),
            ("https://api.deepinfra.com/v1", "/v1/responses", "https://api.deepinfra.com/v1/responses"),
            ("https://api.deepinfra.com/anthropic", "/v1/messages", "https://api.deepinfra.com/anthropic/v1/messages"),
            ("http://v1:8000", chat, "http://v1:8000/v1/chat/completions"),
            ("http://v2.ai", chat, "http://v2.ai/v1/chat/completions"),
            ("http://127.0.0.1:8000/v1/", chat, "http://127.0.0.1:8000/v1/chat/completions"),
            ("http://127.0.0.1:8000/team-a", chat, "http://127.0.0.1:8000/team-a/v1/chat/completions"),
            ("http://127.0.0.1:8000?x=1", "/v1/models?limit=3", "http://127.0.0.1:8000/v1/models?limit=3&x=1"),
        ] {
            assert_eq!(Address::read(written).unwrap().of(path), asked, "{written}");
        }
    }

    #[test]
    fn address_with_a_key_is_refused() {
        for written in ["http://user:pass@host", "https://h/v1?key=abc", "https://h/v1?API_KEY=abc"] {
            assert!(matches!(Address::read(written), Err(InvalidAddress::Credential)), "{written}");
        }
        assert!(matches!(Address::read("https://h/v1#x"), Err(InvalidAddress::Fragment(_))));
    }
}
