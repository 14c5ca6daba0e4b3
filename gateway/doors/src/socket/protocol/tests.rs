//! Clients and places, against listeners of the tests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use muninn_config::ownership::OwnershipError;

use super::*;
use crate::socket::{CallError, ClaimError, Listener, Place, call};

fn place(folder: &Path) -> Place {
    Place::of(None, folder, Path::new("/etc/muninn.toml"))
}

const SOON: Duration = Duration::from_secs(30);

fn wait<T>(call: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(call)
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

/// Answers one connection with these bytes, and returns the line of the client.
fn answering(place: &Place, bytes: &'static str) -> std::thread::JoinHandle<String> {
    place.prepare().unwrap();
    let listener = UnixListener::bind(place.socket()).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        line
    })
}

fn ask(place: &Place) -> Result<String, CallError> {
    wait(call(place, &"question", SOON))
}

#[test]
fn socket_and_directory_are_for_the_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let listener = Listener::claim(&place).unwrap();
    assert_eq!(mode(&place.socket()), 0o600);
    assert_eq!(mode(&place.lock()), 0o600);
    assert_eq!(mode(place.socket().parent().unwrap()), 0o700);
    assert!(place.is_taken() && listener.is_reachable());
    drop(listener);
    assert!(!place.socket().exists() && !place.is_taken());
}

#[test]
fn runtime_directory_is_used_if_it_belongs_to_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let config = Path::new("muninn.toml");
    let directory = |runtime: &Path| {
        let place = Place::of(Some(runtime), &state, config);
        place.socket().parent().unwrap().to_owned()
    };
    assert_eq!(directory(&folder.path().join("muninn/")), folder.path().join("muninn"));
    assert_eq!(directory(&folder.path().join("missing/muninn")), state.join("run"));
    // The root directory's owner is somebody else, unless the tests run as root, who owns it.
    if muninn_config::ownership::user() != 0 {
        assert_eq!(directory(Path::new("/muninn")), state.join("run"));
    }
    let other = Place::of(None, &state, Path::new("other.toml"));
    assert_ne!(other.socket(), Place::of(None, &state, config).socket());
}

#[test]
fn one_process_listens_and_a_socket_without_one_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    place.prepare().unwrap();
    // Dropping std's listener leaves the socket, like the end of a killed process.
    drop(UnixListener::bind(place.socket()).unwrap());
    assert!(matches!(ask(&place), Err(CallError::NoDaemon)));
    let listener = Listener::claim(&place).unwrap();
    assert!(matches!(Listener::claim(&place), Err(ClaimError::Taken(_))));
    std::fs::remove_file(place.socket()).unwrap();
    assert!(!listener.is_reachable());
    std::fs::write(place.socket(), "of somebody else").unwrap();
    drop(listener);
    assert!(place.socket().exists(), "only the own socket is removed");
}

#[test]
fn unsafe_directory_is_refused_by_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let directory = place.socket().parent().unwrap().to_owned();
    std::fs::create_dir(&directory).unwrap();
    let _listener = UnixListener::bind(place.socket()).unwrap();
    let errors = || {
        let claimed = match Listener::claim(&place) {
            Err(ClaimError::Place(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        match ask(&place) {
            Err(CallError::Place(error)) => assert_eq!(error.to_string(), claimed),
            other => panic!("{other:?}"),
        }
        claimed
    };
    set_mode(&directory, 0o750);
    assert!(errors().contains("can be entered by other users (mode 750)"));
    set_mode(&directory, 0o700);
    let real = folder.path().join("real");
    std::fs::rename(&directory, &real).unwrap();
    symlink(&real, &directory).unwrap();
    assert!(errors().contains("is no directory"));
}

#[test]
fn directory_of_another_user_is_refused_by_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let own = place(folder.path());
    own.prepare().unwrap();
    drop(UnixListener::bind(own.socket()).unwrap());
    // Only root can give a directory away.
    let given = std::os::unix::fs::chown(own.socket().parent().unwrap(), Some(12_345), None);
    if muninn_config::ownership::user() != 0 {
        assert!(given.is_err());
        return;
    }
    let refused = own.prepare().unwrap_err();
    assert!(matches!(refused, OwnershipError::Owner { .. }), "{refused}");
    assert!(refused.to_string().contains("belongs to user 12345"), "{refused}");
    assert!(matches!(ask(&own), Err(CallError::Place(OwnershipError::Owner { .. }))));
    assert!(matches!(Listener::claim(&own), Err(ClaimError::Place(OwnershipError::Owner { .. }))));
}

#[test]
fn file_or_link_in_place_of_the_socket_is_not_called() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    place.prepare().unwrap();
    let other = folder.path().join("other");
    let _listener = UnixListener::bind(&other).unwrap();
    symlink(&other, place.socket()).unwrap();
    assert!(matches!(ask(&place), Err(CallError::Place(OwnershipError::Kind { .. }))));
    std::fs::remove_file(place.socket()).unwrap();
    std::fs::write(place.socket(), "").unwrap();
    assert!(matches!(ask(&place), Err(CallError::Place(OwnershipError::Kind { .. }))));
}

#[test]
fn request_and_reply_are_one_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    let server = answering(&place, "{\"reply\":\"c\"}\n");
    assert_eq!(ask(&place).unwrap(), "c");
    let line = server.join().unwrap();
    let sent: Call<'_> = serde_json::from_str(&line).unwrap();
    assert_eq!((sent.version.as_str(), sent.method), (VERSION, Method::Call));
    assert_eq!(sent.request.unwrap().get(), "\"question\"");
    assert!(sent.deadline_ms.unwrap() <= 30_000);
}

#[test]
fn bad_answers_are_errors() {
    let cases: [(&str, &str); 6] = [
        ("", "broke"),
        ("{\"reply\":\"half", "broke"),
        ("nonsense\n", "broke"),
        ("{\"reply\":5}\n", "broke"),
        ("{\"error\":\"the reason\"}\n", "the reason"),
        ("{\"version\":\"9.9.9\"}\n", "9.9.9"),
    ];
    for (answer, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let server = answering(&place, answer);
        let error = ask(&place).unwrap_err().to_string();
        assert!(error.contains(expected), "{answer}: {error}");
        server.join().unwrap();
    }
}

#[test]
fn line_without_an_end_is_refused_and_silence_is_late() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path());
    place.prepare().unwrap();
    let listener = UnixListener::bind(place.socket()).unwrap();
    let server = std::thread::spawn(move || {
        let (mut flooding, _) = listener.accept().unwrap();
        // The client leaves before the end.
        while flooding.write_all(&[b' '; 65_536]).is_ok() {}
        listener
    });
    assert!(matches!(ask(&place), Err(CallError::Io(_))));
    let listener = server.join().unwrap();
    let silent = wait(call::<_, String>(&place, &"question", Duration::from_millis(20)));
    assert!(matches!(silent, Err(CallError::Late)), "{silent:?}");
    drop(listener);
    let large = "x".repeat(MOST_BYTES);
    std::fs::remove_file(place.socket()).unwrap();
    let _listener = UnixListener::bind(place.socket()).unwrap();
    let refused = wait(call::<_, String>(&place, &large, SOON)).unwrap_err();
    assert!(refused.to_string().contains("more than"), "{refused}");
}

#[test]
fn versions_are_compared_by_number() {
    for (older, newer) in [("0.9.0", "0.10.0"), ("0.1.0-rc.1", "0.1.0"), ("0.1.0", "0.1.1-rc.1"), ("nonsense", "0.0.1")]
    {
        assert!(is_older(older, newer) && !is_older(newer, older), "{older} {newer}");
    }
    assert!(!is_older("0.1.0+build", "0.1.0") && !is_older("0.1.0", "0.1.0+build"));
}
