//! The files that a command line names.

use super::file_use::{FileUse, NamedFile};

/// Programs that print files.
const PRINTERS: [&str; 10] = ["cat", "sed", "head", "tail", "nl", "bat", "less", "more", "awk", "tac"];
/// Programs that search or list files.
const SEARCHERS: [&str; 12] = ["grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "fd", "ls", "tree", "wc", "file"];
/// Commands of git that search, list or show files.
const GIT_SEARCHERS: [&str; 5] = ["grep", "ls-files", "show", "log", "blame"];
/// Programs that change the files that they are given.
const CHANGERS: [&str; 7] = ["tee", "mv", "cp", "rm", "touch", "patch", "truncate"];
/// Wrappers that may precede the program.
const WRAPPERS: [&str; 7] = ["bash", "sh", "zsh", "sudo", "env", "time", "exec"];

/// The longest command line in bytes; a longer one contains a file's text.
const LONGEST: usize = 4096;

/// One program of a command line, with its words.
pub(super) struct Command {
    /// The program's name.
    pub(super) program: String,
    /// Its arguments, without quotes.
    pub(super) words: Vec<String>,
    /// Its working directory, if the line sets one.
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
        // Skips wrappers, their options and variables before the program.
        let is_before =
            |word: &String| WRAPPERS.contains(&word.as_str()) || word.starts_with('-') || word.contains('=');
        let mut words = command.split_whitespace().map(unquoted).skip_while(is_before);
        match words.next() {
            Some(program) if program == "cd" => directory = words.next().or(directory),
            Some(program) => commands.push(Command { program, words: words.collect(), directory: directory.clone() }),
            None => {}
        }
    }
    commands
}

/// Whether a program searches, lists or prints files.
pub(super) fn explores(command: &Command) -> bool {
    let program = command.program.as_str();
    let is_git_search = |word: &String| program == "git" && GIT_SEARCHERS.contains(&word.as_str());
    PRINTERS.contains(&program) || SEARCHERS.contains(&program) || command.words.first().is_some_and(is_git_search)
}

/// The arguments that may be files, and how each is used.
pub(super) fn files(command: &Command) -> Vec<NamedFile> {
    let program = command.program.as_str();
    let named =
        |path: &str, file_use| NamedFile { path: path.to_owned(), directory: command.directory.clone(), file_use };
    let in_place = |word: &String| word == "-i" || word.starts_with("-i.") || word == "--in-place";
    let file_use = match program {
        "sed" if command.words.iter().any(in_place) => FileUse::Changed,
        _ if PRINTERS.contains(&program) => FileUse::Shown,
        _ if CHANGERS.contains(&program) => FileUse::Changed,
        "git" if matches!(command.words.first().map(String::as_str), Some("mv" | "rm")) => FileUse::Changed,
        _ => FileUse::Mentioned,
    };
    let mut files = Vec::new();
    let mut scripts = usize::from(matches!(program, "sed" | "awk"));
    let mut redirected = false;
    for word in command.words.iter().filter(|word| !word.is_empty()) {
        let target = word.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches('>');
        if std::mem::take(&mut redirected) {
            files.push(named(word, FileUse::Changed));
        } else if target.len() < word.len() && word.contains('>') {
            match target {
                "" => redirected = true,
                target => files.push(named(target, FileUse::Changed)),
            }
        } else if !word.starts_with(['-', '<']) {
            match scripts {
                0 => files.push(named(word, file_use)),
                _ => scripts -= 1,
            }
        }
    }
    files
}

/// A command line without its here-documents (`<<EOF`).
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
        end = line.split_once("<<").filter(|(_, rest)| !rest.starts_with('<')).map(|(_, rest)| {
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
