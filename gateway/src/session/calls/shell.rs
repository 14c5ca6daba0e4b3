//! The files that a command line is about.

use super::named::{How, Named};

/// Programs that print files.
const PRINTERS: [&str; 10] = ["cat", "sed", "head", "tail", "nl", "bat", "less", "more", "awk", "tac"];
/// Programs that change the files that they are given.
const CHANGERS: [&str; 7] = ["tee", "mv", "cp", "rm", "touch", "patch", "truncate"];
/// What a program is called behind, and is not it.
const WRAPPERS: [&str; 7] = ["bash", "sh", "zsh", "sudo", "env", "time", "exec"];

/// Longer command lines hold a file rather than name it.
const LONGEST: usize = 4096;

/// One program of a command line, with its words.
pub(super) struct Command {
    /// What is run.
    pub(super) program: String,
    /// Its words, without quotes.
    pub(super) words: Vec<String>,
    /// The directory that it runs in, where the line says so.
    directory: Option<String>,
}

/// The programs of a command line, in their order.
pub(super) fn commands(line: &str, directory: Option<&str>) -> Vec<Command> {
    if line.len() > LONGEST && !line.contains("<<") {
        return Vec::new();
    }
    let line = without_documents(line);
    let mut directory = directory.map(str::to_owned);
    let mut commands = Vec::new();
    for command in line.split(['|', ';', '&', '\n', '(', ')', '`']) {
        let unquoted = |word: &str| word.trim_matches(['"', '\'']).to_owned();
        // What stands before the program: shells, their options, variables.
        let is_before =
            |word: &String| WRAPPERS.contains(&word.as_str()) || word.starts_with('-') || word.contains('=');
        let mut words = command.split_whitespace().map(unquoted).skip_while(is_before);
        match words.next() {
            Some(program) if program == "cd" => directory = words.next().or(directory),
            Some(program) => commands.push(Command {
                program,
                words: words.collect(),
                directory: directory.clone(),
            }),
            None => {}
        }
    }
    commands
}

/// The words that may be files, and what is done with each.
pub(super) fn files(command: &Command) -> Vec<Named> {
    let program = command.program.as_str();
    let named = |path: &str, how| Named {
        path: path.to_owned(),
        directory: command.directory.clone(),
        how,
    };
    let in_place = |word: &String| word == "-i" || word.starts_with("-i.") || word == "--in-place";
    let how = match program {
        "sed" if command.words.iter().any(in_place) => How::Changed,
        _ if PRINTERS.contains(&program) => How::Shown,
        _ if CHANGERS.contains(&program) => How::Changed,
        "git" if matches!(command.words.first().map(String::as_str), Some("mv" | "rm")) => How::Changed,
        _ => How::Mentioned,
    };
    let mut files = Vec::new();
    let mut scripts = usize::from(matches!(program, "sed" | "awk"));
    let mut redirected = false;
    for word in command.words.iter().filter(|word| !word.is_empty()) {
        let target = word
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches('>');
        if std::mem::take(&mut redirected) {
            files.push(named(word, How::Changed));
        } else if target.len() < word.len() && word.contains('>') {
            match target {
                "" => redirected = true,
                target => files.push(named(target, How::Changed)),
            }
        } else if !word.starts_with(['-', '<']) {
            match scripts {
                0 => files.push(named(word, how)),
                _ => scripts -= 1,
            }
        }
    }
    files
}

/// A command line without the documents that it feeds to its programs (`<<EOF`).
fn without_documents(text: &str) -> String {
    let mut kept = Vec::new();
    let mut end: Option<String> = None;
    for line in text.lines() {
        if let Some(mark) = &end {
            if line.trim() == mark {
                end = None;
            }
            continue;
        }
        kept.push(line);
        end = line
            .split_once("<<")
            .filter(|(_, rest)| !rest.starts_with('<'))
            .map(|(_, rest)| {
                let mark = rest.trim_start_matches('-').trim_start();
                let mark = mark.split([' ', ';', '|', '&', '>', ')']).next().unwrap_or_default();
                mark.trim_matches(['"', '\'', '\\']).to_owned()
            });
    }
    let mut line = kept.join("\n");
    let most = line.floor_char_boundary(LONGEST);
    line.truncate(most);
    line
}
