//! The credentials of a request to a backend.
//!
//! A client's credential goes only to a host that the user's configuration names for it, or to the vendor whose key has
//! this shape. It never goes to a server that merely answers on loopback, nor to another backend behind an alias.
//! Access keys of Muninn are sent to no backend.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use muninn_config::is_azure;
use muninn_config::secrets::Secret;
use muninn_wire::{Dialect, WireFormat};

use super::Backend;
use crate::access::remove_keys;

pub(crate) use super::vendor_urls::{ANTHROPIC_URL, OPENAI_URL};

/// Headers that carry a client's credential.
const CREDENTIAL_HEADERS: [HeaderName; 7] = [
    header::AUTHORIZATION,
    X_API_KEY,
    API_KEY,
    HeaderName::from_static("x-goog-api-key"),
    header::COOKIE,
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
];
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// Lists the beta features of the messages API that a client uses.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Returns the vendor of the client's credential, by the shape of the key.
pub fn client_credential_vendor(headers: &HeaderMap) -> Option<Dialect> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ")));
    let keys = [headers.get(X_API_KEY).and_then(|value| value.to_str().ok()), bearer];
    keys.into_iter().flatten().map(str::trim).find_map(vendor_of)
}

fn vendor_of(key: &str) -> Option<Dialect> {
    let long_enough = key.len() >= 20;
    if key.starts_with("sk-ant-") && long_enough {
        Some(Dialect::Anthropic)
    } else if key.starts_with("sk-") && long_enough {
        Some(Dialect::OpenAi)
    } else {
        None
    }
}

/// Replaces or removes the credentials in `headers`, so that only those permitted for this backend remain.
pub fn apply_credentials(headers: &mut HeaderMap, backend: &Backend, format: WireFormat) {
    if let Some(key) = &backend.key {
        remove_client_credentials(headers);
        add_key(headers, backend, format, key);
    } else if !backend.client_credentials && !is_vendor_of(backend, client_credential_vendor(headers)) {
        remove_client_credentials(headers);
    } else if format != WireFormat::Messages {
        copy_key_to_bearer(headers);
    }
}

/// Returns the credential headers for a request that Muninn makes itself for a client: the client's credentials that are
/// permitted for this backend, and the betas of a login. No other header of the client is copied.
pub(super) fn headers_for_client(client: &HeaderMap, backend: &Backend, format: WireFormat) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in CREDENTIAL_HEADERS {
        if let Some(value) = client.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    remove_keys(&mut headers);
    apply_credentials(&mut headers, backend, format);
    let bearer = headers.get(header::AUTHORIZATION);
    if format == WireFormat::Messages && bearer.is_some() && bearer == client.get(header::AUTHORIZATION) {
        for beta in betas_of_login(client) {
            headers.append(BETA, beta);
        }
    }
    headers
}

/// Returns the betas that belong to a login's token (`oauth-2025-04-20`). Without them the vendor refuses the token.
fn betas_of_login(client: &HeaderMap) -> impl Iterator<Item = HeaderValue> {
    let lists = client.get_all(BETA).iter().filter_map(|value| value.to_str().ok());
    let betas = lists.flat_map(|list| list.split(',')).map(str::trim);
    betas.filter(|beta| beta.starts_with("oauth-")).filter_map(|beta| HeaderValue::from_str(beta).ok())
}

/// Copies `x-api-key`, the header of messages clients, to a bearer token, which servers of the other formats read.
fn copy_key_to_bearer(headers: &mut HeaderMap) {
    let key = headers.get(X_API_KEY).and_then(|key| key.to_str().ok());
    if headers.contains_key(header::AUTHORIZATION) {
        return;
    }
    if let Some(mut value) = key.and_then(|key| HeaderValue::from_str(&format!("Bearer {key}")).ok()) {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
}

fn is_vendor_of(backend: &Backend, vendor: Option<Dialect>) -> bool {
    match vendor {
        Some(Dialect::Anthropic) => backend.url.base == ANTHROPIC_URL,
        Some(Dialect::OpenAi) => backend.url.base == OPENAI_URL,
        None => false,
    }
}

fn remove_client_credentials(headers: &mut HeaderMap) {
    for name in CREDENTIAL_HEADERS {
        headers.remove(name);
    }
}

/// Sets `x-api-key` for messages and a bearer token for the other formats. A backend that speaks messages and another
/// format may read either header, so it gets both in messages requests.
fn add_key(headers: &mut HeaderMap, backend: &Backend, format: WireFormat, key: &Secret) {
    let mut set = |name: HeaderName, value: String| {
        if let Ok(mut value) = HeaderValue::from_str(&value) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    };
    let is_messages = format == WireFormat::Messages;
    // A token of a login is a JWT, and stays a bearer token.
    if is_azure(&backend.url.base) && !key.reveal().starts_with("eyJ") {
        set(API_KEY, key.reveal().to_owned());
        if is_messages {
            set(HeaderName::from_static("x-api-key"), key.reveal().to_owned());
        }
        return;
    }
    if is_messages {
        set(HeaderName::from_static("x-api-key"), key.reveal().to_owned());
    }
    if !is_messages || backend.formats.iter().any(|spoken| *spoken != WireFormat::Messages) {
        set(header::AUTHORIZATION, format!("Bearer {}", key.reveal()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Circuits;
    use muninn_config::{Address, BackendConfig, LimitsConfig};

    const ANTHROPIC_KEY: &str = "sk-ant-api03-dummy-dummy-dummy";
    const OPENAI_KEY: &str = "sk-proj-dummy-dummy-dummy-dummy";

    fn sent(backend: &Backend, format: WireFormat, client: &[(&'static str, &str)]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in client {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        apply_credentials(&mut headers, backend, format);
        let mut sent: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        sent.sort();
        sent
    }

    fn vendor(dialect: Dialect) -> Backend {
        Backend::vendor(dialect, &LimitsConfig::default(), &Circuits::local())
    }

    fn local(adjust: impl FnOnce(&mut BackendConfig)) -> Backend {
        let formats = vec![WireFormat::Chat, WireFormat::Responses];
        let url = "http://127.0.0.1:8000".to_owned();
        let mut config = BackendConfig::new("local".to_owned(), url, formats, &LimitsConfig::default());
        adjust(&mut config);
        Backend::new(config, &Circuits::local())
    }

    #[test]
    fn a_vendor_gets_the_key_of_its_own_shape_only() {
        let bearer = format!("Bearer {ANTHROPIC_KEY}");
        let anthropic = vendor(Dialect::Anthropic);
        let openai = vendor(Dialect::OpenAi);
        assert_eq!(sent(&anthropic, WireFormat::Messages, &[("authorization", &bearer)]).len(), 1);
        assert_eq!(sent(&anthropic, WireFormat::Messages, &[("x-api-key", ANTHROPIC_KEY)]).len(), 1);
        assert!(sent(&openai, WireFormat::Chat, &[("authorization", &bearer)]).is_empty());
        assert!(sent(&anthropic, WireFormat::Messages, &[("x-api-key", OPENAI_KEY)]).is_empty());
        assert!(sent(&anthropic, WireFormat::Messages, &[("x-api-key", "dummy")]).is_empty());
    }

    #[test]
    fn a_discovered_server_gets_no_credential() {
        let all = [("authorization", "Bearer x"), ("x-api-key", ANTHROPIC_KEY), ("cookie", "a=b"), ("api-key", "y")];
        assert!(sent(&local(|_| {}), WireFormat::Chat, &all).is_empty());
    }

    #[test]
    fn a_lookalike_host_is_not_the_vendor() {
        let mut lookalike = vendor(Dialect::Anthropic);
        for url in [
            "https://api.anthropic.com.evil.example",
            "http://api.anthropic.com",
            "https://api.anthropic.com@evil.example",
        ] {
            lookalike.config.url = Address::of_base(url.into());
            assert!(sent(&lookalike, WireFormat::Messages, &[("x-api-key", ANTHROPIC_KEY)]).is_empty(), "{url}");
        }
    }

    #[test]
    fn a_backends_own_key_replaces_the_clients() {
        let backend = local(|config| {
            config.key = Some(Secret::new("own".into()));
        });
        assert_eq!(
            sent(&backend, WireFormat::Chat, &[("authorization", "Bearer clients"), ("x-api-key", "c")]),
            ["authorization: Bearer own"]
        );
    }

    #[test]
    fn azure_gets_the_key_in_its_own_header() {
        let backend = local(|config| {
            config.url = Address::of_base("https://x.openai.azure.com/openai".into());
            config.key = Some(Secret::new("own".into()));
        });
        assert_eq!(sent(&backend, WireFormat::Chat, &[("authorization", "Bearer clients")]), ["api-key: own"]);
        assert_eq!(sent(&backend, WireFormat::Messages, &[]), ["api-key: own", "x-api-key: own"]);
    }

    #[test]
    fn client_credentials_passes_the_clients_credential_on() {
        let backend = local(|config| config.client_credentials = true);
        assert_eq!(
            sent(&backend, WireFormat::Chat, &[("authorization", "Bearer clients")]),
            ["authorization: Bearer clients"]
        );
        assert_eq!(
            sent(&backend, WireFormat::Chat, &[("x-api-key", "clients")]),
            ["authorization: Bearer clients", "x-api-key: clients"],
            "a converted request carries the key in the header of its format"
        );
        assert_eq!(sent(&backend, WireFormat::Messages, &[("x-api-key", "clients")]), ["x-api-key: clients"]);
    }

    #[test]
    fn own_requests_carry_only_the_clients_permitted_credential() {
        let bearer = format!("Bearer {ANTHROPIC_KEY}");
        let muninn = format!("muninn-{}", "0123456789abcdef".repeat(4));
        let mut client = HeaderMap::new();
        for (name, value) in [
            ("authorization", bearer.as_str()),
            ("x-api-key", &muninn),
            ("x-muninn-key", &muninn),
            ("anthropic-beta", "context-management-2025-06-27, oauth-2025-04-20"),
            ("user-agent", "claude-cli"),
        ] {
            client.insert(HeaderName::from_static(name), value.parse().unwrap());
        }
        let sent = |backend: &Backend, format| {
            let headers = headers_for_client(&client, backend, format);
            let pairs = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
            pairs.collect::<Vec<_>>().join("; ")
        };
        let login = format!("authorization: {bearer}; anthropic-beta: oauth-2025-04-20");
        assert_eq!(sent(&vendor(Dialect::Anthropic), WireFormat::Messages), login);
        assert_eq!(sent(&vendor(Dialect::OpenAi), WireFormat::Chat), "");
        assert_eq!(sent(&local(|_| {}), WireFormat::Messages), "");
        let own = local(|config| {
            config.key = Some(Secret::new("own".into()));
        });
        assert_eq!(sent(&own, WireFormat::Chat), "authorization: Bearer own");
        let named = local(|config| config.client_credentials = true);
        assert_eq!(sent(&named, WireFormat::Chat), format!("authorization: {bearer}"));
    }

    #[test]
    fn a_key_is_redacted_in_display_and_debug() {
        let secret = Secret::new("hush".into());
        assert!(!format!("{secret} {secret:?}").contains("hush"));
    }
}
