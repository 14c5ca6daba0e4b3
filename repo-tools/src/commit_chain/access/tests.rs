//! Packs that git takes in, and that would take memory or time whenever one of their objects is read.

use std::fs;

use super::super::{IncomingError, IncomingObjects};
use super::{ChainError, CommitChain};
use crate::fixture::Fixture;
use crate::git_program::Remote;
use crate::object_id::ObjectId;

const REFERENCE: &str = "refs/muninn/journal";

fn fetched(repo: &Fixture) -> IncomingObjects {
    let chain = CommitChain::open(&repo.path(".git"), REFERENCE).unwrap();
    let remote = Remote {
        name: "origin".to_owned(),
        addresses: vec![("url", "a \"b\" \\ # c".to_owned())],
        is_local: true,
        directory: None,
    };
    IncomingObjects::beside(&chain, &[], &remote).unwrap()
}

/// The kind of the object ids.
fn format_of(fetched: &IncomingObjects) -> gix::hash::Kind {
    let format = muninn_tests::git(fetched.git_dir(), &["rev-parse", "--show-object-format"]).unwrap();
    format.trim().parse().unwrap()
}

/// The head of an entry in a pack: its kind and its size.
fn head(kind: u8, mut size: usize) -> Vec<u8> {
    let mut byte = (kind << 4) | u8::try_from(size & 15).unwrap();
    size >>= 4;
    let mut bytes = Vec::new();
    while size > 0 {
        bytes.push(byte | 0x80);
        byte = u8::try_from(size & 0x7f).unwrap();
        size >>= 7;
    }
    bytes.push(byte);
    bytes
}

/// A size in a delta.
fn size(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// The distance to a base.
fn distance(mut number: usize) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(number & 0x7f).unwrap()];
    number >>= 7;
    while number > 0 {
        number -= 1;
        bytes.insert(0, 0x80 | u8::try_from(number & 0x7f).unwrap());
        number >>= 7;
    }
    bytes
}

/// A zlib stream. Long runs of zeros are stored as few bytes by git, which compresses them.
fn deflated(content: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut chunks = content.chunks(0xffff).peekable();
    if chunks.peek().is_none() {
        stream.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).unwrap();
        stream.push(u8::from(chunks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(chunk);
    }
    let (mut a, mut b) = (1u32, 0u32);
    for byte in content {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend(((b << 16) | a).to_be_bytes());
    stream
}

/// A pack of a base and deltas, each of which makes a short text of what is before it. git indexes it.
fn pack(fetched: &IncomingObjects, base: &[u8], deltas: usize) {
    let mut entries = vec![[head(3, base.len()), deflated(base)].concat()];
    let mut before = base.len();
    for number in 0..deltas {
        let text = format!("{number:08}");
        let delta = [size(before), size(text.len()), vec![8], text.into_bytes()].concat();
        let back = entries.last().unwrap().len();
        entries.push([head(6, delta.len()), distance(back), deflated(&delta)].concat());
        before = 8;
    }
    let count = u32::try_from(entries.len()).unwrap();
    let mut bytes = [b"PACK", &2u32.to_be_bytes()[..], &count.to_be_bytes()].concat();
    bytes.extend(entries.concat());
    let checksum = {
        let mut hasher = gix::hash::hasher(format_of(fetched));
        hasher.update(&bytes);
        hasher.try_finalize().unwrap()
    };
    bytes.extend(checksum.as_slice());
    let path = fetched.git_dir().join("objects/pack/pack-x.pack");
    fs::write(&path, bytes).unwrap();
    muninn_tests::git(fetched.git_dir(), &["index-pack", path.to_str().unwrap()]).unwrap();
}

#[test]
fn small_object_on_a_huge_base_is_refused() {
    let repo = Fixture::with(&[]);
    let fetched = fetched(&repo);
    pack(&fetched, &vec![0; 20 << 20], 1);
    let refused = fetched.check();
    assert!(matches!(refused, Err(IncomingError::Chain(ChainError::TooLarge { .. }))), "{refused:?}");
}

#[test]
fn long_chain_of_deltas_is_refused_and_a_usual_one_is_not() {
    for (deltas, is_refused) in [(250, false), (301, true), (5_000, true)] {
        let repo = Fixture::with(&[]);
        let fetched = fetched(&repo);
        pack(&fetched, b"base", deltas);
        let checked = fetched.check();
        assert_eq!(checked.is_err(), is_refused, "{deltas}: {checked:?}");
    }
}

#[test]
fn deltas_count_among_the_bytes_that_are_read() {
    let repo = Fixture::with(&[]);
    let fetched = fetched(&repo);
    pack(&fetched, b"base", 250);
    let last = gix::objs::compute_hash(format_of(&fetched), gix::objs::Kind::Blob, b"00000249").unwrap();
    let cost = fetched.chain().unwrap().file_cost(last.into()).unwrap();
    assert_eq!(cost, Some(8 + 250 * 64));
}

#[test]
fn object_on_a_huge_base_that_is_here_already_is_an_error() {
    let repo = Fixture::with(&[]);
    let fetched = fetched(&repo);
    pack(&fetched, &vec![0; 20 << 20], 1);
    let listed = ["cat-file", "--batch-all-objects", "--batch-check=%(objectsize) %(objectname)"];
    let listed = muninn_tests::git(fetched.git_dir(), &listed).unwrap();
    let small = listed.lines().find_map(|line| line.strip_prefix("8 ")).unwrap();
    fetched.accept().unwrap();
    let chain = CommitChain::open(&repo.path(".git"), REFERENCE).unwrap();
    assert_eq!(chain.text(ObjectId::from_hex(small).unwrap()), None);
}

#[test]
fn accepted_objects_are_the_repositorys_and_refused_ones_are_gone() {
    let repo = Fixture::with(&[]);
    let count = |repo: &Fixture| repo.git(&["cat-file", "--batch-all-objects", "--batch-check"]).lines().count();
    let refused = fetched(&repo);
    pack(&refused, b"base", 3);
    let folder = refused.git_dir().to_owned();
    drop(refused);
    assert_eq!((folder.exists(), count(&repo)), (false, 0));
    let accepted = fetched(&repo);
    pack(&accepted, b"base", 3);
    fs::write(accepted.git_dir().join("loose"), "loose").unwrap();
    muninn_tests::git(accepted.git_dir(), &["hash-object", "-w", "loose"]).unwrap();
    accepted.check().unwrap();
    accepted.accept().unwrap();
    assert_eq!(count(&repo), 5);
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn addresses_are_written_as_git_reads_them() {
    let repo = Fixture::with(&[]);
    let fetched = fetched(&repo);
    let read = muninn_tests::git(fetched.git_dir(), &["config", "remote.origin.url"]).unwrap();
    assert_eq!(read, "a \"b\" \\ # c\n");
}
