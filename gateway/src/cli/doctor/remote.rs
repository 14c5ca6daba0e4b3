//! What answers over a socket: our own address, the backends, and what would be discovered.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use serde_json::Value;

use super::PATIENCE;
use super::finding::Finding;
use super::probe::{Probe, probe};
use crate::backend::{Backend, Router};
use crate::config::Config;
use crate::store::Receipt;
use crate::wire::WireFormat;

/// Whether the address is free, ours already, or somebody else's; and what a gateway that runs there says of its ledger.
pub(super) async fn port(listen: SocketAddr) -> Vec<Finding> {
    let about = "address";
    match TcpListener::bind(listen) {
        Ok(_) => vec![Finding::good(about, format!("{listen} is free"))],
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => match running(listen).await {
            Some(Running { version, ledger }) => {
                let mut findings = vec![Finding::good(about, format!("a Muninn{version} answers at {listen}"))];
                findings.extend(ledger.and_then(|ledger| running_ledger(&ledger)));
                findings
            }
            None => vec![Finding::bad(
                about,
                format!("another program listens on {listen}"),
                "stop it, or choose another port with `listen` in muninn.toml or --listen 127.0.0.1:PORT",
            )],
        },
        Err(error) => vec![Finding::bad(
            about,
            format!("{listen} cannot be listened on: {error}"),
            "set `listen` in muninn.toml to an address of this machine",
        )],
    }
}

fn running_ledger(ledger: &str) -> Option<Finding> {
    let (about, says) = ("running gateway", format!("its ledger: {ledger}"));
    match ledger {
        "ok" => None,
        aside if aside.starts_with("put aside") => Some(Finding::note(about, says)),
        _ => Some(Finding::bad(
            about,
            says,
            "see to what the other lines name, and restart the gateway",
        )),
    }
}

/// A Muninn that answers at our address.
struct Running {
    /// After a blank; empty where it does not tell strangers.
    version: String,
    ledger: Option<String>,
}

async fn running(listen: SocketAddr) -> Option<Running> {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().ok()?;
    let answer = client.get(format!("http://{listen}/healthz")).send().await.ok()?;
    let health: Value = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
    let version = health["version"].as_str().map(|version| format!(" {version}"));
    let ledger = health["ledger"].as_str().map(str::to_owned);
    let is_ours = health["status"] == "ok" && (version.is_none() || ledger.is_some());
    is_ours.then(|| Running {
        version: version.unwrap_or_default(),
        ledger,
    })
}

/// Every configured backend, and what would be discovered.
pub(super) async fn backends(config: &Config) -> Vec<Finding> {
    let router = Router::new(config, config.listen.port());
    let known: Vec<Arc<Backend>> = router.backends().to_vec();
    let probes = futures_util::future::join_all(known.iter().map(|backend| probe(backend)));
    let (probes, discovered) = tokio::join!(probes, discovered(config));
    let judged = known
        .iter()
        .zip(&probes)
        .flat_map(|(backend, probe)| judge(backend, probe));
    judged.chain([discovered]).collect()
}

fn judge(backend: &Backend, probe: &Probe) -> Vec<Finding> {
    let about = format!("backend {}", backend.name);
    let url = &backend.url;
    if !probe.reachable {
        let reason = probe.silence.as_deref().unwrap_or("no answer");
        let to_do = "start it, or correct its `url` in muninn.toml";
        return vec![Finding::bad(about, format!("{url} does not answer: {reason}"), to_do)];
    }
    if probe.refuses_key && backend.key.is_some() {
        let to_do = "put a valid key where its `key_env` or `key_file` points";
        return vec![Finding::bad(about, format!("{url} refuses its key"), to_do)];
    }
    let all = [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses];
    let claimed: Vec<_> = all.into_iter().filter(|format| backend.speaks(*format)).collect();
    let spoken = names(&probe.spoken);
    let mut findings = Vec::new();
    if probe.spoken.is_empty() {
        let to_do = "give its base address as `url`, without /v1";
        findings.push(Finding::bad(
            &about,
            format!("{url} answers, and speaks none of our formats"),
            to_do,
        ));
    } else if !claimed.iter().any(|format| probe.spoken.contains(format)) {
        let says = format!("{url} speaks {spoken}, and is configured for {}", names(&claimed));
        findings.push(Finding::bad(&about, says, "correct its `dialect` in muninn.toml"));
    } else {
        findings.push(Finding::good(&about, format!("{url} speaks {spoken}{}", models(probe))));
    }
    if let (Some(wanted), Some(models)) = (&backend.default_model, &probe.models)
        && !models.iter().any(|(name, _)| name == wanted)
    {
        let there: Vec<_> = models.iter().take(5).map(|(name, _)| name.as_str()).collect();
        findings.push(Finding::bad(
            &about,
            format!("it does not list its `default_model` {wanted}"),
            format!("set `default_model` to one that it has, such as {}", there.join(", ")),
        ));
    }
    if probe.refuses_key && !backend.client_credentials {
        findings.push(Finding::note(
            &about,
            "it wants a key and has none: set `key_env`, `key_file` or `client_credentials`",
        ));
    }
    findings
}

fn names(formats: &[WireFormat]) -> String {
    let names: Vec<_> = formats.iter().map(|format| Receipt::format_name(*format)).collect();
    names.join(", ")
}

fn models(probe: &Probe) -> String {
    let Some(models) = &probe.models else {
        return "; it does not list its models".to_owned();
    };
    let shown: Vec<_> = models
        .iter()
        .take(3)
        .map(|(name, window)| match window {
            Some(window) => format!("{name} ({window} tokens)"),
            None => name.clone(),
        })
        .collect();
    let more = models.len().saturating_sub(shown.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    match shown.is_empty() {
        true => "; it has no models".to_owned(),
        false => format!("; {}{more}", shown.join(", ")),
    }
}

/// What a gateway without configured backends would find on the well-known ports.
async fn discovered(config: &Config) -> Finding {
    let about = "discovery";
    if !config.discover {
        return Finding::note(about, "switched off by `discover` or MUNINN_DISCOVER");
    }
    let router = Router::new(
        &Config {
            backends: Vec::new(),
            routes: Vec::new(),
            ..config.clone()
        },
        config.listen.port(),
    );
    let found = tokio::time::timeout(PATIENCE, router.discovered())
        .await
        .unwrap_or_default();
    let shown: Vec<_> = found
        .iter()
        .map(|backend| format!("{} at {}", backend.name, backend.url))
        .collect();
    let unused = if config.backends.is_empty() {
        ""
    } else {
        " (not used: backends are configured)"
    };
    match (shown.is_empty(), config.backends.is_empty()) {
        (false, _) => Finding::good(about, format!("{}{unused}", shown.join(", "))),
        (true, false) => Finding::good(about, format!("no model server on the well-known ports{unused}")),
        (true, true) => Finding::bad(
            about,
            "no backend is configured, and no model server answers on the well-known ports",
            "start ollama, vLLM, llama.cpp or LM Studio, or add a [[backends]] entry to muninn.toml; clients that bring a \
             vendor's key need neither",
        ),
    }
}
