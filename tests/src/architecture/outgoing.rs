//! Finds the source files that open a connection or start a program, for comparison with the list in SECURITY.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Expr, Member};

use super::sources::{Source, sources};

/// The files of a crate that open connections or start programs outside of tests. `folder` is the crate's `src`.
pub(super) fn opening_files(folder: &Path) -> BTreeSet<String> {
    let sources = sources(folder).into_iter();
    sources.filter(opens).map(|source| source.path).collect()
}

fn opens(source: &Source) -> bool {
    let mut renames = Renames::default();
    renames.visit_file(&source.file);
    let mut paths = Paths { renames, found: false };
    paths.visit_file(&source.file);
    paths.found
}

/// Whether a call with this path opens a connection, starts a program, or creates a client of a backend. Requests with
/// `transport.send` are found by the method's name.
fn is_opening(owner: &str, name: &str) -> bool {
    match owner {
        "TcpStream" => name.starts_with("connect"),
        "TcpSocket" | "UdpSocket" | "UnixDatagram" | "UnixStream" | "ClientBuilder" => true,
        "Client" => ["builder", "default", "new"].contains(&name),
        "reqwest" => ["blocking", "get"].contains(&name),
        "RemoteModel" => matches!(name, "new" | "chosen"),
        "Command" | "Transport" => name == "new",
        "RemoteEmbedder" => name == "connect",
        _ => false,
    }
}

/// The original names of `use a::B as C`, by the new name.
#[derive(Default)]
struct Renames(BTreeMap<String, String>);

impl<'ast> Visit<'ast> for Renames {
    fn visit_use_rename(&mut self, rename: &'ast syn::UseRename) {
        self.0.insert(rename.rename.to_string(), rename.ident.to_string());
    }
}

struct Paths {
    renames: Renames,
    found: bool,
}

impl Paths {
    fn see(&mut self, names: &[String]) {
        // clap's `Command` starts no program.
        if names.first().is_some_and(|name| name == "clap") {
            return;
        }
        self.found |= names.windows(2).any(|pair| {
            let owner = self.renames.0.get(&pair[0]).unwrap_or(&pair[0]);
            is_opening(owner, &pair[1])
        });
    }

    /// syn does not parse the arguments of macros, so paths are read from their text.
    fn see_text(&mut self, text: &str) {
        let text = text.replace(" ::", "::").replace(":: ", "::");
        for path in text.split(|c: char| !(c.is_alphanumeric() || "_:".contains(c))) {
            self.see(&path.split("::").map(str::to_owned).collect::<Vec<_>>());
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.see(&names);
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let receiver = match &*call.receiver {
            Expr::Path(path) => path.path.segments.last().map(|segment| &segment.ident),
            Expr::Field(field) => match &field.member {
                Member::Named(name) => Some(name),
                Member::Unnamed(_) => None,
            },
            _ => None,
        };
        self.found |= call.method == "send" && receiver.is_some_and(|receiver| receiver == "transport");
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.see_text(&call.tokens.to_string());
        visit::visit_macro(self, call);
    }
}

#[test]
fn connections_are_found_by_path_by_rename_and_in_macros_but_not_in_tests() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod client; mod renamed; mod select; mod sending; mod quiet;");
    write("client.rs", "fn f() { let client = reqwest::Client::builder(); }");
    write("renamed.rs", "use std::net::TcpStream as Stream; fn f() { Stream::connect(\"a:1\"); }");
    write("select.rs", "async fn f() { tokio::select! { one = tokio::net::TcpStream::connect(\"a:1\") => {} } }");
    write("sending.rs", "fn f(one: One) { one.transport.send(request) }");
    write(
        "quiet.rs",
        "use std::net::TcpStream; fn f(stream: TcpStream) { Client::of(stream) }\n\
         #[cfg(test)] mod tests { fn f() { TcpStream::connect(\"a:1\"); } }",
    );
    let found: Vec<_> = opening_files(folder.path()).into_iter().collect();
    assert_eq!(found, ["client.rs", "renamed.rs", "select.rs", "sending.rs"]);
}
