//! Recognises lines that define a name.

/// Modifiers before the keyword of a definition.
#[rustfmt::skip]
const MODIFIERS: &[&str] = &[
    "abstract", "async", "const", "data", "declare", "default", "export", "extern", "final", "inline", "internal",
    "local", "native", "open", "override", "partial", "priv", "private", "protected", "pub", "public", "readonly",
    "sealed", "static", "suspend", "synchronized", "template", "unsafe", "virtual",
];

/// Keywords of definitions, followed by a name.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "class", "def", "defmacro", "defmodule", "defp", "enum", "extension", "fn", "fun", "func", "function", "impl",
    "interface", "macro_rules", "message", "mod", "module", "namespace", "object", "proc", "protocol", "record",
    "rpc", "service", "struct", "sub", "trait", "type", "typedef", "union",
];

/// Words that begin a statement and never a definition.
#[rustfmt::skip]
const STATEMENTS: &[&str] = &[
    "assert", "await", "case", "catch", "do", "elif", "else", "except", "finally", "for", "foreach", "from", "if",
    "import", "in", "let", "loop", "match", "new", "print", "raise", "return", "switch", "throw", "try", "use",
    "using", "var", "when", "while", "with", "yield",
];

/// The name that a line defines, if any. `impl Trait for Type` defines `Type`.
pub(super) fn defined_name(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    if !trimmed.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    let mut rest = trimmed;
    let mut bound = false;
    loop {
        let word = identifier(rest)?;
        let after = rest[word.len()..].trim_start();
        if KEYWORDS.contains(&word)
            && let Some(name) = name_after(word, after)
        {
            return Some(name);
        }
        if !MODIFIERS.contains(&word) || after.is_empty() {
            break;
        }
        bound |= matches!(word, "const" | "static" | "export");
        rest = after_qualifier(after);
        // `const NAME: T = ..`, `static NAME`, `export const name = (..) => ..`
        if bound && indent == 0 {
            let assigned = |name: &&str| rest[name.len()..].trim_start().starts_with([':', '=']);
            if let Some(name) = identifier(rest).filter(assigned) {
                return Some(name);
            }
        }
    }
    signature(trimmed, indent)
}

/// Skips `(crate)` after `pub` and `"C"` after `extern`.
fn after_qualifier(text: &str) -> &str {
    let close = match text.chars().next() {
        Some('(') => text.find(')'),
        Some('"') => text[1..].find('"').map(|at| at + 1),
        _ => None,
    };
    close.map_or(text, |at| text[at + 1..].trim_start())
}

fn name_after<'a>(keyword: &str, mut after: &'a str) -> Option<&'a str> {
    after = match keyword {
        "macro_rules" => after.strip_prefix('!')?.trim_start(),
        "impl" => return implemented(after),
        // A method's receiver in Go.
        "func" if after.starts_with('(') => after.split_once(')')?.1.trim_start(),
        "function" => after.trim_start_matches('*').trim_start(),
        "enum" => after.strip_prefix("class ").unwrap_or(after),
        "def" => after.strip_prefix("self.").unwrap_or(after),
        _ => after,
    };
    let name = identifier(after)?;
    let next = after[name.len()..].trim_start().chars().next();
    // `type = 1`, `object.method()`, `module, other = ..` are statements; `type T = ..` is not.
    let assigned = after.starts_with(['=', '.', ',']);
    (!assigned && !matches!(next, Some('.' | ','))).then_some(name)
}

fn implemented(after: &str) -> Option<&str> {
    let head = after.split(['{']).next().unwrap_or(after).split(" where ").next()?;
    let subject = match head.rsplit_once(" for ") {
        Some((_, subject)) => subject,
        None => skip_generics(head),
    };
    let subject = subject.trim_start_matches(['&', ' ', '(']);
    let path = subject.split(['<', ' ', '{']).next()?;
    let name = path.rsplit("::").next()?;
    identifier(name)
}

/// Skips a leading `<..>`.
fn skip_generics(text: &str) -> &str {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if c == '>' { text[at + 1..].trim_start() } else { text };
        }
    }
    text
}

/// `int main(int argc` and `name(args) {`: definitions without a keyword.
fn signature(trimmed: &str, indent: usize) -> Option<&str> {
    let first = identifier(trimmed)?;
    let head = trimmed.trim_end();
    let open = head.find('(')?;
    let opens_body = head.ends_with('{') && !head.contains("=>");
    let continues = indent == 0 && (head.ends_with(')') || head.ends_with(',')) && head[..open].contains(' ');
    let statement = STATEMENTS.contains(&first) || head[..open].contains(['=', '.', '"', '\'', '!', '[', '}']);
    if statement || !(opens_body || continues) {
        return None;
    }
    let name = head[..open].trim_end().rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    identifier(name).filter(|name| !STATEMENTS.contains(name))
}

fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(text.len());
    (end > 0 && !text.starts_with(|c: char| c.is_ascii_digit())).then(|| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_many_languages_are_recognised() {
        for (line, name) in [
            ("pub(crate) async fn replay(&self) {", "replay"),
            ("    const fn new() -> Self {", "new"),
            ("impl<T: Clone> fmt::Display for path::RelPath<T> {", "RelPath"),
            ("impl Ledger {", "Ledger"),
            ("impl<'a> Iterator for Parts<'a> {", "Parts"),
            ("macro_rules! shapes {", "shapes"),
            ("pub const MAX: usize = 3;", "MAX"),
            ("static TABLE: &[u8] = &[", "TABLE"),
            ("unsafe extern \"C\" fn hook() {", "hook"),
            ("async def fetch(self):", "fetch"),
            ("    def self.build", "build"),
            ("class Parser(Base):", "Parser"),
            ("func (s *Server) Serve(l net.Listener) error {", "Serve"),
            ("type Server struct {", "Server"),
            ("export default function* walk() {", "walk"),
            ("export const handler = async () => {", "handler"),
            ("export interface Props {", "Props"),
            ("    public static void main(String[] args) {", "main"),
            ("  async render(props) {", "render"),
            ("int main(int argc, char **argv)", "main"),
            ("static int parse_header(struct buf *b,", "parse_header"),
            ("enum class Color {", "Color"),
        ] {
            assert_eq!(defined_name(line), Some(name), "{line}");
        }
    }

    #[test]
    fn statements_are_not_definitions() {
        for line in [
            "if (x) {",
            "for (i = 0; i < n; i++) {",
            "return parse(x)",
            "} else if (y) {",
            "let x = call(y, {",
            "print(x)",
            "call(x);",
            "x = f(y) {",
            "type = 3",
            "object.method(x) {",
            "// fn comment() {",
            // An operator of Julia.
            "function ≲(v::VersionNumber, b::VersionBound)",
            "# def x():",
            "match self.kind() {",
            "while let Some(x) = next() {",
            "foo.bar(function(x) {",
            "",
            "    items.iter()",
        ] {
            assert_eq!(defined_name(line), None, "{line}");
        }
    }
}
