//! A repository map of a given size, as a baseline: the definitions that the rest of the repository uses most.
//!
//! Written from the public description of aider's map (<https://aider.chat/docs/repomap.html>). Files are nodes. An edge
//! leads from a file that mentions a name to each file that defines it. PageRank, which restarts at the files that the
//! question mentions, ranks the files, and a file's rank flows along its edges to the definitions. aider's list of
//! important files and its marks for omitted lines are left out, because they only cost tokens here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use muninn_code::syntax::{Language, ParseLimits, parse};
use muninn_repo_tools::{WalkLimits, Worktree, read_text, walk};
use muninn_text::tokens;

use super::Pack;

/// The share of a file's rank that follows its edges.
const DAMPING: f64 = 0.85;
const ITERATIONS: usize = 100;
/// The length of a name from which it counts as specific if it has several words.
const LONG: usize = 8;
/// The number of definitions above which a name is common.
const COMMON: usize = 5;
const LONGEST_LINE: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Tags {
    path: String,
    definitions: BTreeMap<String, Vec<String>>,
    /// The number of lines that mention each name.
    mentions: BTreeMap<String, u32>,
}

pub(super) fn read_tags(root: &Path) -> Result<Vec<Tags>> {
    let worktree = Worktree::discover(root)?;
    let limits = WalkLimits::default();
    let files = walk(&worktree, &limits).files.into_iter();
    let tags = files.filter_map(|file| {
        let text = read_text(&worktree, &file.path, limits.max_file_bytes).ok()?.text;
        let parsed = parse(Language::of(&file.path, &text)?, &text, &ParseLimits::default()).ok()?;
        let lines: Vec<&str> = text.lines().collect();
        let mut tags = Tags { path: file.path.to_string(), ..Tags::default() };
        for definition in parsed.definitions {
            let line = lines.get(definition.name_line as usize - 1).copied().unwrap_or_default();
            let line = line.chars().take(LONGEST_LINE).collect();
            tags.definitions.entry(definition.name.into()).or_default().push(line);
        }
        for reference in parsed.references {
            *tags.mentions.entry(reference.name.into()).or_default() += 1;
        }
        Some(tags)
    });
    Ok(tags.collect())
}

/// The map for a question, of at most this number of tokens.
pub(super) fn repo_map(files: &[Tags], question: &str, budget: u32) -> Pack {
    let question = Question::of(question);
    let edges = edges(files, &question);
    let ranks = page_rank(&edges, &restarts(files, &question));
    let out = weights_out(&edges, files.len());
    let mut definitions: BTreeMap<(usize, &str), f64> = BTreeMap::new();
    for edge in &edges {
        *definitions.entry((edge.to, edge.name)).or_default() += ranks[edge.from] * edge.weight / out[edge.from];
    }
    let mut definitions: Vec<((usize, &str), f64)> = definitions.into_iter().collect();
    definitions.sort_by(|a, b| b.1.total_cmp(&a.1));
    let lines = definitions.into_iter().flat_map(|((file, name), _)| {
        let file = &files[file];
        file.definitions[name].iter().map(move |line| (&file.path, line))
    });
    let mut pack = Pack::default();
    for (path, line) in lines {
        let heading = if pack.files.contains(path) { String::new() } else { format!("{path}:\n") };
        let tokens = pack.tokens + tokens::count(&format!("{heading}│{line}\n"));
        if tokens > budget {
            break;
        }
        pack.tokens = tokens;
        pack.files.insert(path.clone());
    }
    pack
}

/// The names and the paths that a question may mention.
struct Question<'a> {
    names: BTreeSet<&'a str>,
    paths: BTreeSet<&'a str>,
}

impl<'a> Question<'a> {
    fn of(text: &'a str) -> Self {
        let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let paths = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        Self { names: names.filter(|name| !name.is_empty()).collect(), paths: paths.collect() }
    }

    /// Returns whether the question contains the path of a file, its name, or the name of one of its folders.
    fn mentions(&self, path: &str) -> bool {
        self.paths.contains(path)
            || path.split('/').any(|part| {
                let stem = part.rsplit_once('.').map_or(part, |(stem, _)| stem);
                self.paths.contains(part) || self.names.contains(stem)
            })
    }
}

/// A use of a name in one file that another file, or the same one, defines.
struct Edge<'a> {
    from: usize,
    to: usize,
    name: &'a str,
    weight: f64,
}

fn edges<'a>(files: &'a [Tags], question: &Question<'_>) -> Vec<Edge<'a>> {
    let mut defined: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut mentioned: BTreeMap<&str, Vec<(usize, u32)>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        for name in file.definitions.keys() {
            defined.entry(name).or_default().push(at);
        }
        for (name, count) in &file.mentions {
            mentioned.entry(name).or_default().push((at, *count));
        }
    }
    let mut edges = Vec::new();
    for (name, definers) in defined {
        let factor = factor(name, definers.len(), question);
        for (from, count) in mentioned.get(name).into_iter().flatten() {
            edges.extend(definers.iter().map(|to| Edge {
                from: *from,
                to: *to,
                name,
                weight: factor * f64::from(*count).sqrt(),
            }));
        }
    }
    edges
}

/// How much a name counts that has this number of definitions.
fn factor(name: &str, definitions: usize, question: &Question<'_>) -> f64 {
    let has = |is: fn(char) -> bool| name.chars().any(is);
    let has_words =
        name.contains('_') && has(char::is_alphabetic) || has(char::is_uppercase) && has(char::is_lowercase);
    let factors = [
        (question.names.contains(name), 10.0),
        (has_words && name.chars().count() >= LONG, 10.0),
        (name.starts_with('_'), 0.1),
        (definitions > COMMON, 0.1),
    ];
    factors.iter().filter(|(holds, _)| *holds).map(|(_, factor)| factor).product()
}

/// The probability of each file to restart at: the files that the question mentions, or else all.
fn restarts(files: &[Tags], question: &Question<'_>) -> Vec<f64> {
    let mentioned: Vec<bool> = files.iter().map(|file| question.mentions(&file.path)).collect();
    let is_any = mentioned.contains(&true);
    let restarts: Vec<f64> = mentioned.iter().map(|mentioned| f64::from(u8::from(*mentioned || !is_any))).collect();
    let sum: f64 = restarts.iter().sum();
    restarts.iter().map(|restart| restart / sum).collect()
}

/// The ranks of all files, which add up to 1. A file without edges passes its rank on to where the walk restarts.
fn page_rank(edges: &[Edge<'_>], restarts: &[f64]) -> Vec<f64> {
    let out = weights_out(edges, restarts.len());
    let mut ranks = restarts.to_vec();
    for _ in 0..ITERATIONS {
        let ends: f64 = ranks.iter().zip(&out).filter(|(_, out)| **out == 0.0).map(|(rank, _)| rank).sum();
        let restart = 1.0 - DAMPING + DAMPING * ends;
        let mut next: Vec<f64> = restarts.iter().map(|share| share * restart).collect();
        for edge in edges {
            next[edge.to] += DAMPING * ranks[edge.from] * edge.weight / out[edge.from];
        }
        ranks = next;
    }
    ranks
}

fn weights_out(edges: &[Edge<'_>], files: usize) -> Vec<f64> {
    let mut out = vec![0.0; files];
    edges.iter().for_each(|edge| out[edge.from] += edge.weight);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_flows_to_what_is_used() {
        let edge = |from, to, weight| Edge { from, to, name: "", weight };
        let ranks = page_rank(&[edge(0, 1, 3.0), edge(0, 2, 1.0), edge(2, 1, 1.0)], &[1.0 / 3.0; 3]);
        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{ranks:?}");
        assert!(ranks[1] > ranks[2] && ranks[2] > ranks[0], "{ranks:?}");
        // r0 = s, r2 = s + d r0 / 4, r1 = s + 3 d r0 / 4 + d r2, where s is the restart with the rank of the dead end.
        let ratio = 1.0 + DAMPING / 4.0;
        assert!((ranks[2] / ranks[0] - ratio).abs() < 1e-9, "{ranks:?}");
        assert!((ranks[1] / ranks[0] - (1.0 + 0.75 * DAMPING + DAMPING * ratio)).abs() < 1e-9, "{ranks:?}");
    }

    #[test]
    fn map_of_used_definitions_ends_at_its_budget() {
        let repository = muninn_tests::Repository::with(&[
            ("a.py", "class A:\n    def run(self):\n        n = helper(1)\n        return helper(n)\n"),
            ("b.py", "def helper(n):\n    return n\n"),
        ]);
        let tags = read_tags(repository.root()).unwrap();
        assert_eq!((tags[0].path.as_str(), tags[0].mentions["helper"]), ("a.py", 2));
        let tokens = tokens::count("b.py:\n│def helper(n):\n");
        let map = repo_map(&tags, "run", tokens);
        assert_eq!((map.files.into_iter().collect::<Vec<_>>(), map.tokens), (vec!["b.py".to_owned()], tokens));
        assert_eq!(repo_map(&tags, "run", tokens - 1).tokens, 0);
    }
}
