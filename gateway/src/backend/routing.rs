//! Which backend answers a request.

use std::sync::Arc;

use http::HeaderMap;
use thiserror::Error;

use super::{Backend, CONTEXT_MODEL, Discovery, client_credential_vendor};
use crate::config::Config;
use crate::wire::WireFormat;
use crate::wire::error::ErrorKind;

/// Where a request goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// The built-in model.
    Context,
    /// A backend, which may know the model under another name.
    Candidates(Vec<Candidate>),
}

#[derive(Debug, Clone)]
pub struct Candidate {
    pub backend: Arc<Backend>,
    pub format: WireFormat,
    pub rename: Option<String>,
}

/// Why a request goes nowhere.
#[derive(Debug, Error)]
pub enum NoRoute {
    /// Nothing is configured, brought or found.
    #[error(
        "no model is connected: nothing is configured, the request brought no vendor's key, and no model server answered on {tried}. Start ollama, vLLM, llama.cpp or LM Studio, or add a [[backends]] entry to {config}; the model `{CONTEXT_MODEL}` answers without one"
    )]
    NothingConnected {
        /// The ports that were tried.
        tried: String,
        /// The user's configuration file.
        config: String,
    },
}

impl NoRoute {
    /// How a client is told.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            NoRoute::NothingConnected { .. } => ErrorKind::NoBackend,
        }
    }
}

/// The rules of one configuration.
pub struct Router {
    backends: Vec<Arc<Backend>>,
    routes: Vec<(String, usize, Option<String>)>,
    discovery: Option<Discovery>,
    config_path: String,
}

impl Router {
    /// Settles the rules.
    #[must_use]
    pub fn new(config: &Config, own_port: u16) -> Router {
        let backends: Vec<_> = config
            .backends
            .iter()
            .map(|backend| Arc::new(Backend::from(backend)))
            .collect();
        let routes = config
            .routes
            .iter()
            .map(|route| (route.model.clone(), route.backend, route.rename.clone()))
            .collect();
        let path = config.file.clone().or_else(|| crate::config::paths::config_file().ok());
        Router {
            discovery: (config.discover && backends.is_empty())
                .then(|| Discovery::new(config.test.discovery_ports.as_deref(), own_port)),
            backends,
            routes,
            config_path: path.map_or_else(|| "muninn.toml".to_owned(), |path| path.display().to_string()),
        }
    }

    /// Decides for one request.
    ///
    /// # Errors
    /// [`NoRoute`], in words that say how to connect a backend.
    pub async fn route(
        &self,
        format: WireFormat,
        model: &str,
        headers: &HeaderMap,
        _allowed: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Target, NoRoute> {
        if model == CONTEXT_MODEL {
            return Ok(Target::Context);
        }
        if !self.backends.is_empty() {
            return Ok(self.configured(format, model));
        }
        let plain = |backend: Arc<Backend>| {
            Target::Candidates(vec![Candidate {
                format: backend.format_for(format),
                backend,
                rename: None,
            }])
        };
        let vendor = client_credential_vendor(headers).filter(|vendor| *vendor == format.dialect());
        if let Some(vendor) = vendor {
            return Ok(plain(Arc::new(Backend::vendor(vendor))));
        }
        let found = self.discovered().await;
        let serves = |backend: &&Arc<Backend>| backend.models.iter().any(|known| known == model);
        match found.iter().find(serves).or_else(|| found.first()) {
            Some(backend) => Ok(plain(Arc::clone(backend))),
            None => Err(NoRoute::NothingConnected {
                tried: self
                    .discovery
                    .as_ref()
                    .map_or_else(|| "loopback (looking is switched off)".to_owned(), Discovery::describe),
                config: self.config_path.clone(),
            }),
        }
    }

    fn configured(&self, format: WireFormat, model: &str) -> Target {
        let to = |backend: &Arc<Backend>, rename: Option<String>| {
            Target::Candidates(vec![Candidate {
                format: backend.format_for(format),
                backend: Arc::clone(backend),
                rename,
            }])
        };
        for (pattern, backend, rename) in &self.routes {
            if matches(pattern, model) {
                return to(&self.backends[*backend], rename.clone());
            }
        }
        let by = self.backends.iter().find(|b| b.default_model.as_deref() == Some(model));
        to(
            by.or_else(|| self.backends.iter().find(|b| b.speaks(format)))
                .unwrap_or(&self.backends[0]),
            None,
        )
    }

    /// The backends that the configuration names.
    #[must_use]
    pub fn backends(&self) -> &[Arc<Backend>] {
        &self.backends
    }

    /// The servers that answer on loopback, where looking for them is allowed.
    pub async fn discovered(&self) -> Vec<Arc<Backend>> {
        match &self.discovery {
            Some(discovery) => discovery.find().await,
            None => Vec::new(),
        }
    }

    /// The backend and model that answer a question from the command line.
    pub async fn default_model(&self) -> Option<(Arc<Backend>, String)> {
        let found = if self.backends.is_empty() {
            self.discovered().await
        } else {
            self.backends.clone()
        };
        let mut speaking = found.iter().filter(|backend| backend.speaks(WireFormat::Chat));
        speaking.find_map(|backend| {
            let model = backend
                .default_model
                .clone()
                .or_else(|| backend.models.first().cloned())?;
            Some((Arc::clone(backend), model))
        })
    }
}

/// Whether a name fits a pattern in which `*` stands for any run of characters.
#[must_use]
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_any_run() {
        for (pattern, name, fits) in [
            ("claude-*", "claude-opus", true),
            ("claude-*", "gpt", false),
            ("*", "", true),
            ("*-mini", "gpt-5-mini", true),
            ("gpt-*-mini", "gpt-mini", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
