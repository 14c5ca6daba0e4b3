//! HTTP/2 to a backend: negotiated over TLS, or configured.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use bytes::Bytes;
use muninn_tests::{Gateway, TestEnv};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::MUNINN;

const BODY: &[u8] = br#"{"model":"m","messages":[]}"#;
const ANSWER: &str = r#"{"choices":[]}"#;

/// A server that speaks HTTP/2 and nothing else; it stops when dropped.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    fn start(tls: Option<TlsAcceptor>) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        runtime.spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                let tls = tls.clone();
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => {
                            let socket = tls.accept(socket).await.unwrap();
                            assert_eq!(socket.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
                            answer(socket).await;
                        }
                        None => answer(socket).await,
                    }
                });
            }
        });
        Server { address, connections, _runtime: runtime }
    }

    fn backend(&self, scheme: &str, more: &str) -> String {
        let address = self.address;
        format!("[[backends]]\nname = \"two\"\nurl = \"{scheme}://{address}\"\ndialect = \"chat\"\n{more}")
    }
}

async fn answer(socket: impl AsyncRead + AsyncWrite + Unpin) {
    let mut connection = h2::server::handshake(socket).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        tokio::spawn(async move {
            let mut body = request.into_body();
            let mut got = Vec::new();
            while let Some(data) = body.data().await {
                let data = data.unwrap();
                body.flow_control().release_capacity(data.len()).unwrap();
                got.extend_from_slice(&data);
            }
            assert_eq!(got, BODY);
            let head = http::Response::builder().header("content-type", "application/json");
            let mut stream = respond.send_response(head.body(()).unwrap(), false).unwrap();
            stream.send_data(Bytes::from_static(ANSWER.as_bytes()), true).unwrap();
        });
    }
}

/// A certificate for 127.0.0.1 that signs itself, as DER, and its key.
pub(crate) fn certificate() -> (Vec<u8>, Vec<u8>) {
    const SEQUENCE: u8 = 0x30;
    const ECDSA_WITH_SHA256: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    const EC_PUBLIC_KEY: &[u8] = &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
    const PRIME256V1: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    const COMMON_NAME: &[u8] = &[0x06, 3, 0x55, 4, 3];
    const SUBJECT_ALT_NAME: &[u8] = &[0x06, 3, 0x55, 0x1d, 17];
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random).unwrap();
    let bits = |content: &[u8]| der(0x03, &[&[0], content]);
    let algorithm = der(SEQUENCE, &[ECDSA_WITH_SHA256]);
    let name = der(SEQUENCE, &[&der(0x31, &[&der(SEQUENCE, &[COMMON_NAME, &der(0x0c, &[b"muninn test"])])])]);
    let validity = der(SEQUENCE, &[&der(0x17, &[b"200101000000Z"]), &der(0x17, &[b"490101000000Z"])]);
    let public = der(SEQUENCE, &[&der(SEQUENCE, &[EC_PUBLIC_KEY, PRIME256V1]), &bits(pair.public_key().as_ref())]);
    let addresses = der(0x04, &[&der(SEQUENCE, &[&der(0x87, &[&[127, 0, 0, 1]])])]);
    let extensions = der(0xa3, &[&der(SEQUENCE, &[&der(SEQUENCE, &[SUBJECT_ALT_NAME, &addresses])])]);
    let version = der(0xa0, &[&[0x02, 1, 2]]);
    let serial: &[u8] = &[0x02, 1, 1];
    let body = der(SEQUENCE, &[&version, serial, &algorithm, &name, &validity, &name, &public, &extensions]);
    let signature = pair.sign(&random, &body).unwrap();
    let certificate = der(SEQUENCE, &[&body, &algorithm, &bits(signature.as_ref())]);
    (certificate, key.as_ref().to_vec())
}

/// A value in DER.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let head = match length {
        [0, short] if short < 0x80 => vec![tag, short],
        [0, long] => vec![tag, 0x81, long],
        [high, low] => vec![tag, 0x82, high, low],
    };
    [head, content].concat()
}

/// The settings of a TLS server with this certificate that offers these protocols.
pub(crate) fn acceptor((certificate, key): (Vec<u8>, Vec<u8>), protocols: &[&str]) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate)], PrivatePkcs8KeyDer::from(key).into())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Writes a certificate to a file that `SSL_CERT_FILE` may name.
pub(crate) fn trusted_file(env: &TestEnv, certificate: &[u8]) -> PathBuf {
    let encoded = base64::engine::general_purpose::STANDARD.encode(certificate);
    let path = env.path("trusted.pem");
    std::fs::write(&path, format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n")).unwrap();
    path
}

fn ask(gateway: &Gateway) {
    let response = gateway.post("/v1/chat/completions", &[], BODY);
    assert_eq!((response.status, response.text().as_str()), (200, ANSWER), "{}", gateway.stderr());
}

#[test]
fn http_2_is_used_where_a_server_offers_it_over_tls() {
    let (certificate, key) = certificate();
    let server = Server::start(Some(acceptor((certificate.clone(), key), &["h2", "http/1.1"])));
    let env = TestEnv::new(MUNINN);
    env.write_config(&server.backend("https", ""));
    let root = env.repository("demo", &[]);
    let trusted = trusted_file(&env, &certificate);
    let gateway = env.serve_with(&root, &[], |command| {
        command.env("SSL_CERT_FILE", &trusted);
    });
    ask(&gateway);
    ask(&gateway);
    let connections = server.connections.load(Ordering::SeqCst);
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    assert!((1..=workers).contains(&connections), "{connections}: one for each worker at most");
}

#[test]
fn http_2_is_used_without_tls_if_configured() {
    let server = Server::start(None);
    let env = TestEnv::new(MUNINN);
    env.write_config(&server.backend("http", "http2_prior_knowledge = true\n"));
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    ask(&gateway);
}
