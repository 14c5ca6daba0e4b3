use std::fmt::Write as _;

use muninn_base::RelPath;
use muninn_code::Basis;
use muninn_text::lexical::Tokenizer;

use super::super::files::{Files, Given};
use super::*;
use crate::digest::digest;
use crate::graph::resolve;
use crate::syntax::Syntax;

/// A worktree whose files are numbered in the given order.
struct Tree {
    paths: Vec<RelPath>,
    /// Pairs of a file and a file that it imports.
    imports: Vec<(u32, u32)>,
    graph: Graph,
}

fn tree(files: &[(&str, &str)]) -> Tree {
    let paths: Vec<RelPath> = files.iter().map(|(path, _)| RelPath::new(path).unwrap()).collect();
    let of = |(path, (_, text)): (&RelPath, &(&str, &str))| digest(&mut Tokenizer::new(), path, text).syntax;
    let syntaxes: Vec<Syntax> = paths.iter().zip(files).map(of).collect();
    let numbered = (0u32..).zip(&paths).zip(&syntaxes);
    let given: Vec<Given<'_>> = numbered.map(|((number, path), syntax)| (number, path, syntax)).collect();
    let imports = resolve::imports(&Files::new(&given), &given).pairs().collect();
    let graph = Graph::build(given.into_iter());
    Tree { paths, imports, graph }
}

impl Tree {
    fn file(&self, path: &str) -> u32 {
        let at = self.paths.iter().position(|known| known.as_str() == path);
        u32::try_from(at.unwrap()).unwrap()
    }

    /// Returns the paths of the files that a file imports, joined with spaces.
    fn imports(&self, path: &str) -> String {
        let from = self.file(path);
        let imported = self.imports.iter().filter(|(importer, _)| *importer == from);
        let paths: Vec<&str> = imported.map(|(_, to)| self.paths[*to as usize].as_str()).collect();
        paths.join(" ")
    }

    /// Returns the definitions that are called at a site.
    fn called_at(&self, site: Site) -> impl Iterator<Item = (Defined<'_>, Call)> {
        let all = (0..).map_while(|id| self.graph.definition(DefinitionId(id)));
        all.flat_map(|to| self.graph.callers(to.id).map(move |call| (to, call)))
            .filter(move |(_, call)| call.from == site)
    }

    /// Returns the callees of the only definition of a name: path and line, basis, and confidence.
    fn callees(&self, name: &str) -> Vec<(String, Basis, u8)> {
        let id = self.graph.definitions(name).next().unwrap().id;
        let calls = self.called_at(Site::Definition(id)).map(|(to, call)| {
            let place = format!("{}:{} {}", self.paths[to.file as usize], to.line, to.name);
            (place, call.basis, (call.confidence * 100.0).round() as u8)
        });
        calls.collect()
    }
}

fn one(callees: &[(String, Basis, u8)]) -> (&str, Basis) {
    assert_eq!(callees.len(), 1, "{callees:?}");
    (&callees[0].0, callees[0].1)
}

#[test]
fn rust_modules_crates_and_workspace_members() {
    let tree = tree(&[
        ("a/Cargo.toml", "[package]\nname = \"crate-a\"\n"),
        ("a/src/lib.rs", "mod inner;\npub mod größe;\nuse crate_b::wire::send;\n"),
        ("a/src/inner/mod.rs", "mod deep;\nuse super::größe::messen;\nuse crate::größe as g;\n"),
        ("a/src/inner/deep.rs", "use super::super::größe::*;\nmod tests {\n    use super::*;\n}\n"),
        ("a/src/größe.rs", "pub fn messen() { crate::inner::run() }\n"),
        ("a/tests/it.rs", "mod common;\nuse crate_a::größe;\n"),
        ("a/tests/common/mod.rs", ""),
        ("b/Cargo.toml", "[package]\nname = \"crate-b\"\n"),
        ("b/src/lib.rs", "pub mod wire;\n"),
        ("b/src/wire.rs", "use std::fmt;\npub fn send() {}\n"),
    ]);
    assert_eq!(tree.imports("a/src/lib.rs"), "a/src/inner/mod.rs a/src/größe.rs b/src/wire.rs");
    assert_eq!(tree.imports("a/src/inner/mod.rs"), "a/src/inner/deep.rs a/src/größe.rs");
    assert_eq!(
        tree.imports("a/src/inner/deep.rs"),
        "a/src/größe.rs",
        "`super` in the test module must refer to the file itself"
    );
    assert_eq!(tree.imports("a/tests/it.rs"), "a/src/größe.rs a/tests/common/mod.rs");
    assert_eq!(tree.imports("b/src/lib.rs"), "b/src/wire.rs");
    assert_eq!(tree.imports("b/src/wire.rs"), "");
}

#[test]
fn python_roots_packages_and_relatives() {
    let tree = tree(&[
        ("src/pkg/__init__.py", "from .core import run\n"),
        ("src/pkg/core.py", "import os\nfrom . import helper as h\nfrom .sub.leaf import x\nimport json\n"),
        ("src/pkg/helper.py", "from pkg import core\n"),
        ("src/pkg/json.py", ""),
        ("src/pkg/sub/__init__.py", ""),
        ("src/pkg/sub/leaf.py", "from ..core import *\nfrom ... import outside\n"),
        ("tests/test_core.py", "import pkg.core\nfrom conftest import thing\n"),
        ("tests/conftest.py", ""),
    ]);
    assert_eq!(tree.imports("src/pkg/__init__.py"), "src/pkg/core.py");
    assert_eq!(
        tree.imports("src/pkg/core.py"),
        "src/pkg/helper.py src/pkg/sub/leaf.py",
        "a package's module must not hide a module of the library"
    );
    assert_eq!(tree.imports("src/pkg/helper.py"), "src/pkg/core.py");
    assert_eq!(tree.imports("src/pkg/sub/leaf.py"), "src/pkg/core.py");
    assert_eq!(tree.imports("tests/test_core.py"), "src/pkg/core.py tests/conftest.py");
}

#[test]
fn script_endings_indexes_aliases_and_members() {
    let tree = tree(&[
        ("web/tsconfig.json", "{ // x\n \"compilerOptions\": { \"paths\": { \"@/*\": [\"./src/*\"] }, }\n}\n"),
        (
            "web/src/main.ts",
            "import a from './a';\nimport { b } from '@/lib';\nimport c from './c.js';\nimport 'react';\n",
        ),
        ("web/src/a.tsx", "export * from '../../ui';\nimport { x } from '@x/ui/button';\n"),
        ("web/src/c.ts", "const r = require('./main');\n"),
        ("web/src/lib/index.ts", ""),
        ("ui/package.json", "{\"name\": \"@x/ui\"}"),
        ("ui/index.js", ""),
        ("ui/src/button.jsx", ""),
    ]);
    assert_eq!(tree.imports("web/src/main.ts"), "web/src/a.tsx web/src/c.ts web/src/lib/index.ts");
    assert_eq!(tree.imports("web/src/a.tsx"), "ui/index.js ui/src/button.jsx");
    assert_eq!(tree.imports("web/src/c.ts"), "web/src/main.ts", "a cycle");
}

#[test]
fn packages_are_the_files_that_define_what_is_used() {
    let tree = tree(&[
        ("go.mod", "module example.org/app\n"),
        (
            "main.go",
            "package main\nimport \"example.org/app/wire\"\nimport \"fmt\"\nfunc main() { wire.Send(); fmt.Println() }\n",
        ),
        ("wire/send.go", "package wire\nfunc Send() {}\n"),
        ("wire/other.go", "package wire\nfunc Other() {}\n"),
        (
            "j/A.java",
            "package a;\nimport b.B;\nimport b.c.*;\nimport static b.B.inner;\nclass A { void f() { new D(); } }\n",
        ),
        ("j/B.java", "package b;\nclass B {}\n"),
        ("j/D.java", "package b.c;\nclass D {}\n"),
        ("j/E.java", "package b.c;\nclass E {}\n"),
        ("s/A.cs", "using N.Core;\nnamespace N.App {\nclass A { void F() { new Größe(); } }\n}\n"),
        ("s/B.cs", "namespace N.Core {\nclass Größe {}\n}\n"),
        ("s/C.cs", "namespace N.Core {\nclass Other {}\n}\n"),
        ("p/a.php", "<?php\nnamespace App;\nuse Lib\\Helper;\nrequire_once __DIR__ . '/inc.php';\nHelper::run();\n"),
        ("p/Helper.php", "<?php\nnamespace Lib;\nclass Helper { static function run() {} }\n"),
        ("p/inc.php", "<?php\n"),
    ]);
    assert_eq!(tree.imports("main.go"), "wire/send.go");
    assert_eq!(tree.imports("j/A.java"), "j/B.java j/D.java");
    assert_eq!(tree.imports("s/A.cs"), "s/B.cs");
    assert_eq!(tree.imports("p/a.php"), "p/Helper.php p/inc.php");
}

#[test]
fn named_files_are_beside_or_end_so() {
    let tree = tree(&[
        (
            "src/main.c",
            "#include \"util.h\"\n#include <lib/deep.h>\n#include <stdio.h>\nint main(void) { return helper(); }\n",
        ),
        ("src/util.h", "int helper(void);\n"),
        ("src/util.c", "#include \"util.h\"\nint helper(void) { return 1; }\n"),
        ("include/lib/deep.h", ""),
        ("other/util.c", "int helper(void) { return 2; }\n"),
        ("r/lib/app/core.rb", "require_relative \"part\"\nrequire \"app/more\"\nrequire \"json\"\n"),
        ("r/lib/app/part.rb", ""),
        ("r/lib/app/more.rb", ""),
        ("sh/run.sh", "source ./lib.sh\n. \"$DIR/other.sh\"\n"),
        ("sh/lib.sh", ""),
        ("sh/other.sh", ""),
    ]);
    assert_eq!(tree.imports("src/main.c"), "src/util.h include/lib/deep.h");
    assert_eq!(tree.imports("r/lib/app/core.rb"), "r/lib/app/part.rb r/lib/app/more.rb");
    assert_eq!(tree.imports("sh/run.sh"), "sh/lib.sh sh/other.sh");
    assert_eq!(
        one(&tree.callees("main")),
        ("src/util.c:2 helper", Basis::Imported),
        "a call of a declared function refers to the file beside the header"
    );
}

#[test]
fn calls_go_to_the_nearest_of_a_name() {
    let tree = tree(&[
        (
            "a.py",
            "from b import zählen as z\nimport c\n\ndef own():\n    pass\n\ndef start():\n    own()\n    z()\n    c.go()\n    only()\n    many()\n",
        ),
        ("b.py", "def zählen():\n    pass\n"),
        ("c.py", "def go():\n    pass\n\ndef own():\n    pass\n"),
        ("x/d.py", "def only():\n    pass\n\ndef go():\n    pass\n\ndef many():\n    pass\n"),
        ("x/e.py", "def many():\n    pass\n"),
        ("x/f.js", "function only() {}\n"),
    ]);
    let expected = [
        ("a.py:4 own", Basis::SameFile, 92),
        ("b.py:1 zählen", Basis::Imported, 90),
        ("c.py:1 go", Basis::Imported, 92),
        ("x/d.py:1 only", Basis::Unique, 80),
        ("x/d.py:7 many", Basis::Ambiguous, 50),
        ("x/e.py:1 many", Basis::Ambiguous, 50),
    ];
    assert_eq!(tree.callees("start"), expected.map(|(to, basis, percent)| (to.to_owned(), basis, percent)));
    assert!(tree.graph.callers(tree.graph.definitions("own").next().unwrap().id).count() == 1);
}

#[test]
fn methods_are_known_by_what_they_belong_to() {
    let tree = tree(&[
        ("a.rs", "struct A;\nimpl A {\n    fn run(&self) { self.step();\n B::step(); }\n    fn step(&self) {}\n}\n"),
        ("b.rs", "struct B;\nimpl B {\n    fn step() {}\n}\n"),
        ("c.rs", "struct C;\nimpl C {\n    fn step() {}\n}\n"),
    ]);
    let callees = tree.callees("run");
    let expected = [("a.rs:5 step", Basis::Qualified), ("b.rs:3 step", Basis::Qualified)];
    let known: Vec<(&str, Basis)> = callees.iter().map(|(to, basis, _)| (&**to, *basis)).collect();
    assert_eq!(known.last(), Some(&expected[1]), "{known:?}");
    assert!(!known.iter().any(|(to, _)| to.starts_with("c.rs")));
    assert_eq!(known, expected);
}

#[test]
fn code_outside_of_definitions_calls_too() {
    let tree = tree(&[("run.py", "from lib import go\ngo()\n"), ("lib.py", "def go():\n    pass\n")]);
    let go = tree.graph.definitions("go").next().unwrap();
    let callers: Vec<Site> = tree.graph.callers(go.id).map(|call| call.from).collect();
    assert_eq!(callers, [Site::File(0)]);
    assert_eq!(tree.called_at(Site::File(0)).count(), 1);
}

#[test]
fn a_name_that_everybody_has_is_looked_for_nearby() {
    let mut texts: Vec<(String, String)> = (0..200)
        .map(|at| (format!("m{at}.rs"), format!("pub struct T{at};\nimpl T{at} {{\n    pub fn new() {{}}\n}}\n")))
        .collect();
    texts.push(("main.rs".to_owned(), "fn begin() { T7::new(); x.new(); }\n".to_owned()));
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (&**path, &**text)).collect();
    let tree = tree(&files);
    assert_eq!(one(&tree.callees("begin")), ("m7.rs:3 new", Basis::Qualified));
    assert_eq!(tree.graph.definitions("new").count(), 200);
    assert_eq!(tree.graph.definitions_with("NE").count(), 200);
    assert_eq!(tree.graph.definitions_with("t19").count(), 11);
    assert_eq!(tree.graph.definitions_with("nowhere").count(), 0);
}

#[test]
fn a_huge_file_and_an_empty_worktree_are_no_exceptions() {
    let mut text = String::new();
    for at in 0..5_000 {
        writeln!(text, "def f{at}(): f{}()", at + 1).unwrap();
    }
    let tree = tree(&[("big.py", &text), ("notes.md", "# Notes\n")]);
    assert_eq!(tree.graph.size().0, 5_000);
    assert_eq!(one(&tree.callees("f7")), ("big.py:9 f8", Basis::SameFile));
    let empty = Graph::build(std::iter::empty());
    assert_eq!(empty.size(), (0, 0, 0));
    assert!(empty.definitions("x").next().is_none() && empty.definition(DefinitionId(0)).is_none());
    assert!(empty.callers(DefinitionId(0)).next().is_none());
}
