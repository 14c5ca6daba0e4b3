//! Reading import statements of each language.

use tree_sitter::Node;

use super::parsed::{Import, Imported};
use super::use_tree;

/// The syntax of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportForm {
    RustUse,
    RustCrate,
    RustModule,
    Python,
    PythonFrom,
    Script,
    /// An export statement. It is an import only if it names a source.
    ScriptFrom,
    Go,
    Java,
    Include,
    CppUsing,
    CSharp,
    PhpUse,
    PhpInclude,
}

/// Returns the imports of a statement; empty if the statement imports nothing.
pub(super) fn read(form: ImportForm, node: Node<'_>, source: &str) -> Vec<Import> {
    let text = |node: Node<'_>| source.get(node.byte_range()).unwrap_or_default();
    let field = |name: &str| node.child_by_field_name(name);
    let line = u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1);
    let import = |path: &str, names: Vec<Imported>| Import { path: path.into(), names, line };
    let listed = |text: &str, separator: &str| {
        let found = use_tree::read(text, separator);
        let whole = |path: &str, names: &[Imported]| path.is_empty() && names.len() == 1 && names[0].alias.is_none();
        let one = |(path, names): (String, Vec<Imported>)| match names.first() {
            Some(module) if whole(&path, &names) => import(&module.name, Vec::new()),
            _ => import(&path, names),
        };
        found.into_iter().map(one).collect()
    };
    match form {
        ImportForm::RustUse => listed(field("argument").map_or("", text), "::"),
        ImportForm::RustCrate | ImportForm::RustModule => {
            let path = field("name").map_or("", text);
            let prefix = if form == ImportForm::RustModule { "self::" } else { "" };
            vec![import(&format!("{prefix}{path}"), Vec::new())]
        }
        ImportForm::Python => python_modules(node, source).map(|name| import(&name.name, Vec::new())).collect(),
        ImportForm::PythonFrom => {
            let mut names: Vec<_> = python_modules(node, source).collect();
            if names.is_empty() {
                names.push(all());
            }
            vec![import(field("module_name").map_or("__future__", text), names)]
        }
        ImportForm::Script | ImportForm::ScriptFrom => {
            let source_node =
                field("source").or_else(|| descendant(node, "import_require_clause")?.child_by_field_name("source"));
            let names = script_names(node, source);
            source_node.map(|path| import(unquoted(text(path)), names)).into_iter().collect()
        }
        ImportForm::Go => field("path").map(|path| import(unquoted(text(path)), Vec::new())).into_iter().collect(),
        ImportForm::Java => java(text(node)).map(|(path, name)| import(path, vec![name])).into_iter().collect(),
        ImportForm::Include => field("path").map(|path| import(unquoted(text(path)), Vec::new())).into_iter().collect(),
        ImportForm::CppUsing => {
            let named = text(node).trim_start_matches("using").trim_start().trim_end_matches(';');
            match named.strip_prefix("namespace") {
                Some(namespace) => vec![import(namespace.trim(), vec![all()])],
                None => listed(named, "::"),
            }
        }
        ImportForm::CSharp => {
            let path = text(node).trim_end_matches(';');
            let path = path.rsplit(['=']).next().unwrap_or(path).trim();
            let plain = path.trim_start_matches("global ").trim_start_matches("using ");
            vec![import(plain.trim_start_matches("static ").trim(), Vec::new())]
        }
        ImportForm::PhpUse => {
            let list = text(node).trim_start_matches("use").trim_start();
            let list = list.strip_prefix("function ").or_else(|| list.strip_prefix("const ")).unwrap_or(list);
            listed(list, "\\")
        }
        ImportForm::PhpInclude => string_in(text(node)).map(|path| import(path, Vec::new())).into_iter().collect(),
    }
}

/// Returns the import of a call to `require` or a similar function.
pub(super) fn of_call(name: &str, call: Node<'_>, source: &str) -> Option<Import> {
    if !["require", "require_relative", "load", "import", "source", "."].contains(&name) {
        return None;
    }
    let text = source.get(call.byte_range())?;
    let first = text.lines().next()?;
    let path = string_in(first).or_else(|| first.strip_prefix(name)?.split_whitespace().next())?;
    if path.is_empty() || path.starts_with('(') {
        return None;
    }
    Some(Import {
        path: path.into(),
        names: Vec::new(),
        line: u32::try_from(call.start_position().row).ok()?.saturating_add(1),
    })
}

fn all() -> Imported {
    Imported { name: "*".into(), alias: None }
}

/// Returns the names of a Python import, with their aliases.
fn python_modules<'s>(node: Node<'s>, source: &'s str) -> impl Iterator<Item = Imported> + 's {
    let text = |node: Node<'_>| source.get(node.byte_range()).unwrap_or_default();
    let mut cursor = node.walk();
    let children: Vec<Node<'s>> = node.children_by_field_name("name", &mut cursor).collect();
    children.into_iter().map(move |child| {
        let part = |name| child.child_by_field_name(name).map(text);
        Imported { name: part("name").unwrap_or_else(|| text(child)).into(), alias: part("alias").map(Into::into) }
    })
}

/// Returns the names in an import or export clause of JavaScript or TypeScript.
fn script_names(statement: Node<'_>, source: &str) -> Vec<Imported> {
    let text = |node: Node<'_>| source.get(node.byte_range()).unwrap_or_default();
    let mut names = Vec::new();
    // Clauses and their lists are at most three levels deep.
    let mut open = vec![(statement, 0)];
    while let Some((node, depth)) = open.pop() {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let part = |name| child.child_by_field_name(name).map(text);
            let (name, alias) = match child.kind() {
                "import_specifier" | "export_specifier" => (part("name").unwrap_or_default(), part("alias")),
                "namespace_import" | "namespace_export" => ("*", child.named_child(0).map(text)),
                "identifier" if node.kind() == "import_clause" => ("default", Some(text(child))),
                "import_clause" | "named_imports" | "export_clause" if depth < 3 => {
                    open.push((child, depth + 1));
                    continue;
                }
                _ => continue,
            };
            names.push(Imported { name: name.into(), alias: alias.map(Into::into) });
        }
    }
    names
}

/// Splits `import static a.b.C.d;` into the path and the imported name.
fn java(text: &str) -> Option<(&str, Imported)> {
    let path = text.strip_prefix("import")?.trim().trim_end_matches(';').trim_end();
    let path = path.strip_prefix("static ").unwrap_or(path).trim();
    let (path, name) = path.rsplit_once('.')?;
    let name = Imported { name: name.trim().into(), alias: None };
    Some((path, name))
}

fn descendant<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|child| child.kind() == kind)
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`', '<', '>'])
}

/// Returns the last quoted string of a text.
fn string_in(text: &str) -> Option<&str> {
    let end = text.rfind(['"', '\''])?;
    let quote = *text.as_bytes().get(end)?;
    let start = memchr::memrchr(quote, &text.as_bytes()[..end])?;
    text.get(start + 1..end)
}
