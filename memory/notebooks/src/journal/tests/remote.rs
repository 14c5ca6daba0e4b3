//! A journal, and a remote that sends it anything: objects are made with git's plumbing where git would fetch them to.

use std::io::Write as _;
use std::process::Stdio;

use muninn_repo_tools::{CommitChain, IncomingObjects, Remote};
use muninn_tests::git_command;

use super::{Repo, draft, section};
use crate::journal::{IntakeError, Journal, Merged, Version};

/// The message of an entry.
pub(super) fn message(section: &str, text: &str, trailers: &str) -> Vec<u8> {
    format!("work_context: x\n\n{text}\n\nSection: {section}\n{trailers}").into_bytes()
}

/// A repository with a journal of two own entries, and what a fetch from a remote has brought.
pub(super) struct Attack {
    pub(super) repo: Repo,
    pub(super) journal: Journal,
    fetched: Option<IncomingObjects>,
}

impl Attack {
    pub(super) fn new() -> Attack {
        let repo = Repo::new();
        let journal = repo.journal();
        let mut first = draft("the owner's first");
        first.overview = Some("the owner's overview".to_owned());
        let written = journal.write(&section("own"), &first, Some(Version::New)).unwrap();
        journal.write(&section("own"), &draft("the owner's second"), Some(written.version)).unwrap();
        let fetched = Some(journal.incoming(&remote()).unwrap());
        Attack { repo, journal, fetched }
    }

    /// Begins another fetch.
    pub(super) fn again(&mut self) {
        self.fetched = Some(self.journal.incoming(&remote()).unwrap());
    }

    /// Runs git where the objects of the fetch are.
    pub(super) fn git(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = git_command(self.fetched.as_ref().unwrap().git_dir(), arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).ok();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(super) fn blob(&self, content: &[u8]) -> String {
        self.git(&["hash-object", "-w", "--stdin"], content)
    }

    /// A tree of lines such as `100644 blob ID<TAB>NAME`.
    pub(super) fn tree(&self, lines: &[String]) -> String {
        self.git(&["mktree", "--missing"], format!("{}\n", lines.join("\n")).as_bytes())
    }

    /// A tree of one small section.
    pub(super) fn small_tree(&self) -> String {
        self.tree(&[format!("100644 blob {}\ta.md", self.blob(b"x\n"))])
    }

    /// A commit of `author`, a line such as `Eve <eve@example.com> 1700000000 +0000`.
    pub(super) fn commit(&self, tree: &str, parent: Option<&str>, author: &str, message: &[u8]) -> String {
        let parent = parent.map_or_else(String::new, |parent| format!("parent {parent}\n"));
        let head = format!("tree {tree}\n{parent}author {author}\ncommitter {author}\n\n");
        self.object("commit", &[head.as_bytes(), message].concat())
    }

    /// An object as it is, well-formed or not.
    pub(super) fn object(&self, kind: &str, content: &[u8]) -> String {
        self.git(&["hash-object", "-t", kind, "-w", "--literally", "--stdin"], content)
    }

    /// The newest commit of the owner's journal.
    pub(super) fn own_tip(&self) -> String {
        self.journal.tip().unwrap().unwrap().to_string()
    }

    /// The id of no object.
    pub(super) fn unknown(&self) -> String {
        "1".repeat(self.own_tip().len())
    }

    /// The remote's newest commit.
    pub(super) fn set_tip(&self, commit: &str) {
        self.git(&["update-ref", "refs/muninn/incoming", commit], b"");
    }

    /// Takes in what was fetched.
    pub(super) fn take_in(&mut self) -> Result<Option<Merged>, IntakeError> {
        self.journal.take_in(self.fetched.take().unwrap(), &remote())
    }

    /// The objects that the repository has for itself.
    pub(super) fn objects(&self) -> usize {
        let listed = self.repo.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
        listed.lines().count()
    }

    /// The text, the author and the time of the owner's entries, which are written at one time.
    pub(super) fn own_entries(&self) -> Vec<(String, String, i64)> {
        let chain = CommitChain::open(&self.repo.fixture.path(".git"), crate::journal::REFERENCE).unwrap();
        let commits = chain.history(chain.tip().unwrap()).map(Result::unwrap);
        let own = commits.filter(|commit| commit.message.contains("the owner's "));
        own.map(|commit| {
            let text = commit.message.split("\n\n").nth(1).unwrap_or_default().to_owned();
            (text, commit.author.name, commit.author.seconds)
        })
        .collect()
    }
}

/// A remote whose address is not used.
pub(super) fn remote() -> Remote {
    Remote { name: "origin".to_owned(), addresses: Vec::new(), is_local: true, directory: None }
}
