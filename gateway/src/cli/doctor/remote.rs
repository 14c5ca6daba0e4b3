//! Checks over the network: the gateway's own address, the backends, and discovery.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use muninn_backend::socket_owner::SocketOwner;
use muninn_backend::{Backend, Router};
use muninn_config::Config;
use muninn_ledger::Receipt;
use muninn_wire::WireFormat;
use serde_json::Value;

use super::TIMEOUT;
use super::finding::Finding;
use super::probe::{Probe, ask, probe};

/// Whether the address is free or taken, and the ledger's state if a gateway runs there.
pub(super) async fn port(listen: SocketAddr) -> Vec<Finding> {
    let about = "address";
    match TcpListener::bind(listen) {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && is_foreign(listen) => vec![Finding::bad(
            about,
            format!("{listen} is taken: {}", SocketOwner::of_listener(listen.port())),
            "clients that are set to this address send that user their prompts and keys: choose another port with `listen` \
             in muninn.toml or --listen 127.0.0.1:PORT, and set the clients to it",
        )],
        Ok(_) => vec![Finding::good(about, format!("{listen} is free"))],
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => match running(listen).await {
            Some(Running { version, ledger }) => {
                let mut findings = vec![Finding::good(about, format!("a Muninn{version} is running at {listen}"))];
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
            format!("cannot listen on {listen}: {error}"),
            "set `listen` in muninn.toml to an address of this machine",
        )],
    }
}

/// Whether another person's program listens on a loopback address.
fn is_foreign(listen: SocketAddr) -> bool {
    let is_local = listen.ip().is_loopback() || listen.ip().is_unspecified();
    is_local && matches!(SocketOwner::of_listener(listen.port()), SocketOwner::Other(_))
}

fn running_ledger(ledger: &str) -> Option<Finding> {
    let (about, message) = ("running gateway", format!("its ledger: {ledger}"));
    match ledger {
        "ok" => None,
        aside if aside.starts_with("put aside") => Some(Finding::note(about, message)),
        _ => Some(Finding::bad(about, message, "fix the problems in the other lines, and restart the gateway")),
    }
}

/// A gateway that runs at the configured address.
struct Running {
    /// With a leading space; empty where it is shown to holders of keys only.
    version: String,
    ledger: Option<String>,
}

async fn running(listen: SocketAddr) -> Option<Running> {
    let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().ok()?;
    let answer = client.get(format!("http://{listen}/healthz")).send().await.ok()?;
    let health: Value = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
    let version = health["version"].as_str().map(|version| format!(" {version}"));
    let ledger = health["ledger"].as_str().map(str::to_owned);
    let is_ours = health["status"] == "ok" && (version.is_none() || ledger.is_some());
    is_ours.then(|| Running { version: version.unwrap_or_default(), ledger })
}

/// Findings about every configured backend, and about discovery.
pub(super) async fn backends(config: &Config, asks: bool) -> Vec<Finding> {
    let router = Router::new(config, config.listen.port());
    let known: Vec<Arc<Backend>> = router.backends().to_vec();
    let probes = futures_util::future::join_all(known.iter().map(|backend| probe(backend)));
    let (probes, discovered) = tokio::join!(probes, discovered(config));
    let judged = known.iter().zip(&probes).flat_map(|(backend, probe)| judge(backend, probe));
    let mut findings: Vec<Finding> = judged.chain(discovered).collect();
    if asks {
        let asked = known.iter().zip(&probes).map(|(backend, probe)| answer(backend, probe));
        findings.extend(futures_util::future::join_all(asked).await);
    }
    findings
}

/// Whether a backend answers a request.
async fn answer(backend: &Backend, probe: &Probe) -> Finding {
    let about = format!("answer of {}", backend.name);
    let listed = || probe.models.iter().flatten().next().map(|(name, _)| name.clone());
    let Some(model) = backend.default_model.clone().or_else(listed) else {
        return Finding::note(about, "not asked: it has no `default_model` and lists no models");
    };
    match ask(backend, &model).await {
        Ok(address) => Finding::good(about, format!("{model} answers at {address}")),
        // The first model of a list need not be one that answers.
        Err(reason) if backend.default_model.is_none() => Finding::note(about, format!("{model}: {reason}")),
        Err(reason) => {
            Finding::bad(about, reason.to_string(), "correct its `url`, its key or its `default_model` in muninn.toml")
        }
    }
}

fn judge(backend: &Backend, probe: &Probe) -> Vec<Finding> {
    let about = format!("backend {}", backend.name);
    let url = &backend.url;
    if !probe.reachable {
        let reason = probe.failure.as_deref().unwrap_or("no answer");
        let to_do = "start it, or correct its `url` in muninn.toml";
        return vec![Finding::bad(about, format!("{url} does not answer as a model server: {reason}"), to_do)];
    }
    if probe.fails {
        let to_do = "look at its log, and correct its `url` in muninn.toml if another server answers there";
        return vec![Finding::bad(about, format!("{url} answers each request with a failure of its own"), to_do)];
    }
    if probe.refuses_key && backend.key.is_some() {
        let to_do = "put a valid key where its `key_env` or `key_file` points";
        return vec![Finding::bad(about, format!("{url} refuses its key"), to_do)];
    }
    let all = [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses];
    let claimed: Vec<_> = all.into_iter().filter(|format| backend.speaks(*format)).collect();
    let supported = names(&probe.supported);
    let mut findings = Vec::new();
    if probe.supported.is_empty() {
        let to_do = "give its address as `url`, as its documentation prints it";
        findings.push(Finding::bad(&about, format!("{url} answers, but supports none of our formats"), to_do));
    } else if !claimed.iter().any(|format| probe.supported.contains(format)) {
        let message = format!("{url} supports {supported}, but is configured for {}", names(&claimed));
        findings.push(Finding::bad(&about, message, "correct its `dialect` in muninn.toml"));
    } else {
        findings.push(Finding::good(&about, format!("{url} supports {supported}{}", models(probe))));
    }
    if let (Some(wanted), Some(models)) = (&backend.default_model, &probe.models)
        && !models.iter().any(|(name, _)| name == wanted)
    {
        let listed: Vec<_> = models.iter().take(5).map(|(name, _)| name.as_str()).collect();
        findings.push(Finding::bad(
            &about,
            format!("its list of models does not have its `default_model` {wanted}"),
            format!("set `default_model` to a model of the list, such as {}", listed.join(", ")),
        ));
    }
    if probe.refuses_key && !backend.client_credentials {
        findings.push(Finding::note(
            &about,
            "it needs a key and has none: set `key_env`, `key_file` or `client_credentials`",
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
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if shown.is_empty() { "; it lists no models".to_owned() } else { format!("; {}{more}", shown.join(", ")) }
}

/// The model servers on the well-known ports, which a gateway without configured backends uses.
async fn discovered(config: &Config) -> Vec<Finding> {
    let about = "discovery";
    if !config.discover {
        return vec![Finding::note(about, "turned off by `discover` or MUNINN_DISCOVER")];
    }
    let router =
        Router::new(&Config { backends: Vec::new(), routes: Vec::new(), ..config.clone() }, config.listen.port());
    let announcements = tokio::time::timeout(TIMEOUT, router.announcements());
    let warnings = announcements.await.unwrap_or_default().into_iter();
    let warnings = warnings.filter(|announcement| announcement.is_warning);
    let notes = warnings.map(|warning| Finding::note(about, warning.text));
    let found = tokio::time::timeout(TIMEOUT, router.discovered()).await.unwrap_or_default();
    let shown: Vec<_> = found.iter().map(|backend| format!("{} at {}", backend.name, backend.url)).collect();
    let unused = if config.backends.is_empty() { "" } else { " (not used: backends are configured)" };
    let finding = match (shown.is_empty(), config.backends.is_empty()) {
        (false, _) => Finding::good(about, format!("{}{unused}", shown.join(", "))),
        (true, false) => Finding::good(about, format!("no model server on the well-known ports{unused}")),
        (true, true) => Finding::bad(
            about,
            "no backend is configured, and no model server answers on the well-known ports",
            "start ollama, vLLM, llama.cpp or LM Studio, or add a [[backends]] entry to muninn.toml. Clients with a \
             vendor's key need neither",
        ),
    };
    [finding].into_iter().chain(notes).collect()
}
