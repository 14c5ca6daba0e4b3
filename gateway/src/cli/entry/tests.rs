//! Tests of the command line as a whole: groups, examples, and the command reference.

use clap::Command;
use muninn_tests::assert_reference_page;

use super::{command, groups};

/// The columns of the terminal that help is made for.
const WIDTH: usize = 100;

fn root() -> Command {
    let mut root = command(&groups()).term_width(WIDTH);
    root.build();
    root
}

/// A command and everything below it, in the order of help.
fn all(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().flat_map(all);
    std::iter::once(command).chain(below).collect()
}

/// What `--help` prints for a command.
fn help(root: &Command, command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let arguments = name.split(' ').chain(["--help"]);
    let help = root.clone().try_get_matches_from(arguments).unwrap_err().to_string();
    help.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The words of a command line up to a pipe or a redirection, without quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '|' | '>') => break,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    if line.contains(" > ") {
        words.pop();
    }
    words
}

#[test]
fn clap_accepts_the_definition() {
    command(&groups()).debug_assert();
}

#[test]
fn every_command_is_in_one_group_with_its_description() {
    let root = root();
    let help = help(&root, &root);
    for command in root.get_subcommands() {
        let line = format!("\n  {:<11}  {}\n", command.get_name(), command.get_about().unwrap());
        assert_eq!(help.matches(&line).count(), 1, "{line}{help}");
        assert!(line.trim_end().len() <= WIDTH, "too long for a line of `muninn --help`: {line}");
    }
    for (group, _) in groups() {
        assert_eq!(help.matches(&format!("\n{group}:\n")).count(), 1, "{group}");
    }
}

#[test]
fn every_help_ends_with_examples_that_parse() {
    let root = root();
    for command in all(&root) {
        let help = help(&root, command);
        let (_, examples) = help.rsplit_once("\nExamples:\n").unwrap_or_else(|| panic!("no examples: {help}"));
        let lines: Vec<_> = examples.trim_end().lines().collect();
        assert!((2..=8).contains(&lines.len()), "one to four examples: {help}");
        for pair in lines.chunks(2) {
            let [example, remark] = pair else { panic!("no remark: {help}") };
            assert!(remark.starts_with("      ") && remark.len() <= WIDTH, "{remark}");
            let parsed = root.clone().try_get_matches_from(words(example.trim()));
            parsed.unwrap_or_else(|error| panic!("{example}: {error}"));
        }
    }
}

#[test]
fn the_command_reference_is_current() {
    let root = root();
    let section = |help: String| format!("\n```text\n{}\n```\n", help.trim_end());
    let mut page = format!("# Commands\n{}", section(help(&root, &root)));
    // Global options are shown once.
    let mut without_globals = command(&groups()).term_width(WIDTH).mut_args(|argument| {
        let is_global = argument.is_global_set();
        argument.hide(is_global)
    });
    without_globals.build();
    for (group, entries) in groups() {
        page.push_str(&format!("\n## {group}\n"));
        for entry in entries {
            for command in all(root.find_subcommand(entry.command.get_name()).unwrap()) {
                let text = section(help(&without_globals, command));
                page.push_str(&format!("\n### {}\n{text}", command.get_bin_name().unwrap()));
            }
        }
    }
    assert_reference_page("commands.md", "the command line by gateway/src/cli/tests.rs", &page);
}
