//! Writes the table of words in other repositories, `memory/text/src/background.bin`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use muninn_base::RelPath;
use muninn_index::{FileKind, digest, file_role};
use muninn_text::background::{Elsewhere, write};
use muninn_text::lexical::Tokenizer;
use serde::{Deserialize, Serialize};

use crate::graded::trees::clone_of;
use crate::harness::{at, progress};

/// Larger files are not read, as by the index.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Writes the table of words in other repositories.
#[derive(Debug, Clone, Parser)]
#[command(name = "background")]
pub(crate) struct Options {
    /// The repositories with their commits: a JSON object whose member `background` maps OWNER/NAME to a commit.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/relevance/repositories.json"))]
    list: PathBuf,
    /// The directory of their clones, OWNER+NAME/repo.
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// The table.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Leave out terms of fewer repositories.
    #[arg(long, default_value_t = 3)]
    least: u32,
}

#[derive(Deserialize)]
struct List {
    background: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Report {
    repositories: usize,
    files: usize,
    all_terms: usize,
    terms: usize,
    bytes: usize,
}

/// The sums over all repositories for one term.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    repositories: u32,
    code: f32,
    prose: f32,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let list = std::fs::read(&options.list).with_context(at(&options.list))?;
    let List { background: list } = serde_json::from_slice(&list).with_context(at(&options.list))?;
    let mut all: HashMap<String, Sums> = HashMap::new();
    let mut report = Report { repositories: list.len(), ..Report::default() };
    for (repo, commit) in &list {
        let counts = Counts::of(&clone_of(&options.repos, repo), commit).with_context(|| repo.clone())?;
        progress(&format!("{repo}: {} files of code, {} of prose", counts.code, counts.prose));
        report.files += counts.code + counts.prose;
        counts.add_to(&mut all);
    }
    report.all_terms = all.len();
    all.retain(|_, sums| sums.repositories >= options.least);
    let n = list.len() as f32;
    let shares = |sums: &Sums| Elsewhere {
        repositories: sums.repositories as f32 / n,
        code: sums.code / n,
        prose: sums.prose / n,
    };
    let table = write(all.iter().map(|(term, sums)| (&**term, shares(sums))));
    std::fs::write(&options.out, &table).with_context(at(&options.out))?;
    (report.terms, report.bytes) = (all.len(), table.len());
    Ok(report)
}

/// The files of one repository, and those that contain each term: of code and of prose.
#[derive(Default)]
struct Counts {
    code: usize,
    prose: usize,
    terms: HashMap<String, (u32, u32)>,
}

impl Counts {
    fn of(clone: &Path, commit: &str) -> Result<Counts> {
        let listed = git(clone, &["ls-tree", "-r", "-z", "--format=%(objectmode) %(objectname) %(path)", commit])?;
        let mut files = Vec::new();
        for line in listed.split(|byte| *byte == 0) {
            let Some(line) = std::str::from_utf8(line).ok() else { continue };
            let mut words = line.splitn(3, ' ');
            let (Some(mode), Some(blob), Some(path)) = (words.next(), words.next(), words.next()) else { continue };
            let Ok(path) = RelPath::new(path) else { continue };
            if mode.starts_with("100") && file_role(&path).kind().is_some() {
                files.push((blob.to_owned(), path));
            }
        }
        let mut counts = Counts::default();
        let mut tokenizer = Tokenizer::new();
        each_blob(clone, &files, |path, text| counts.file(&mut tokenizer, path, text))?;
        Ok(counts)
    }

    fn file(&mut self, tokenizer: &mut Tokenizer, path: &RelPath, text: &str) {
        let Some(kind) = file_role(path).kind() else { return };
        let digest = digest(tokenizer, path, text);
        if digest.data {
            return;
        }
        let mut terms: BTreeSet<&str> = BTreeSet::new();
        for span in 0..digest.spans.len() {
            terms.extend(digest.bag(span).map(|(term, _)| term));
        }
        for term in terms {
            let (code, prose) = self.terms.entry(term.to_owned()).or_default();
            let count = if kind == FileKind::Code { code } else { prose };
            *count += 1;
        }
        let files = if kind == FileKind::Code { &mut self.code } else { &mut self.prose };
        *files += 1;
    }

    fn add_to(self, all: &mut HashMap<String, Sums>) {
        let share = |files: u32, of: usize| files as f32 / of.max(1) as f32;
        for (term, (code, prose)) in self.terms {
            let sums = all.entry(term).or_default();
            sums.repositories += 1;
            sums.code += share(code, self.code);
            sums.prose += share(prose, self.prose);
        }
    }
}

fn git(clone: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new("git").arg("--git-dir").arg(clone).args(arguments).output().context("git")?;
    ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

/// Calls `each` with the text of every file that is there, not too large and in UTF-8. Clones can lack large blobs.
fn each_blob(clone: &Path, files: &[(String, RelPath)], mut each: impl FnMut(&RelPath, &str)) -> Result<()> {
    let mut child = Command::new("git")
        .arg("--git-dir")
        .arg(clone)
        .args(["cat-file", "--batch", "--buffer"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("git cat-file")?;
    let mut input = child.stdin.take().context("git's input")?;
    let wanted: String = files.iter().map(|(blob, _)| format!("{blob}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(wanted.as_bytes()));
    let mut output = BufReader::new(child.stdout.take().context("git's output")?);
    for (_, path) in files {
        let mut head = String::new();
        output.read_line(&mut head)?;
        let Some(size) = head.split_whitespace().nth(2) else { continue };
        let mut blob = vec![0; size.parse::<usize>().context("the size of a blob")? + 1];
        output.read_exact(&mut blob)?;
        blob.pop();
        if blob.len() <= MAX_FILE_BYTES
            && let Ok(text) = String::from_utf8(blob)
        {
            each(path, &text);
        }
    }
    writer.join().ok();
    child.wait()?;
    Ok(())
}
