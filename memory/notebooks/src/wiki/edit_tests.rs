//! Changes of pages: each is done as a whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use muninn_base::private_file;
use muninn_team::knowledge::Full;

use super::*;

struct Wiki {
    dir: tempfile::TempDir,
    pub(crate) folder: WikiFolder,
}

impl Wiki {
    fn with(files: &[(&str, &str)]) -> Wiki {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("pages");
        fs::create_dir(&root).unwrap();
        for (file, text) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let folder = WikiFolder::new(&root, LinkStyle::Auto, &dir.path().join("state"), None).unwrap();
        Wiki { dir, folder }
    }

    fn pages(&self) -> Arc<Pages> {
        self.folder.pages()
    }

    fn create(&self, page: &str, text: &str) -> Result<PagePath, WikiError> {
        self.folder.create(&path(page), text)
    }

    fn update(&self, page: &str, text: &str, etag: Option<&str>) -> Result<String, WikiError> {
        let change = PageChange { text: Some(text), ..PageChange::default() };
        self.folder.update(&path(page), &change, etag)
    }

    fn rename(&self, from: &str, to: &str) -> Result<Moved, WikiError> {
        self.folder.rename(&path(from), &path(to))
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.folder.root().join(file)).unwrap()
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(self.folder.root())
    }
}

/// All files below a folder with their bytes.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn path(path: &str) -> PagePath {
    PagePath::new(path).unwrap()
}

#[test]
fn page_is_created_once_in_any_case_and_form() {
    let wiki = Wiki::with(&[("Über/cafe\u{301}.md", "")]);
    assert_eq!(wiki.create("a/b", "# B\n").unwrap(), path("a/b"));
    assert_eq!(wiki.text("a/b.md"), "# B\n");
    for page in ["a/b", "A/B", "über/CAFÉ", "Über/cafe\u{301}"] {
        assert!(matches!(wiki.create(page, ""), Err(WikiError::Exists(_))), "{page}");
    }
    assert_eq!(wiki.create("über/x", "").unwrap(), path("Über/x"), "the folder that exists");
    let token = format!("ghp_{}", "a1B2c3".repeat(6));
    assert!(matches!(wiki.create("c", &token), Err(WikiError::Secret)));
    assert!(matches!(wiki.create("c", "---\nx: y\n"), Err(WikiError::FrontMatter(_))));
    assert!(matches!(wiki.create("c", &"x".repeat(5 << 20)), Err(WikiError::Full(_))));
    fs::create_dir(wiki.folder.root().join("folder.md")).unwrap();
    assert!(matches!(wiki.create("folder", "x"), Err(WikiError::Exists(_) | WikiError::Write(_))));
    assert_eq!(wiki.pages().len(), 3);
}

#[test]
fn changed_page_is_updated_only_with_its_version() {
    let front = "---\r\n# why\r\ntitle: Errors\r\nunknown: [1, 2]\r\n---\r\n";
    let wiki = Wiki::with(&[("a.md", &format!("{front}old\r\n"))]);
    let read = wiki.folder.text(&wiki.pages(), &path("a")).unwrap();
    let second = wiki.update("a", "new\n", Some(&read.etag)).unwrap();
    assert_eq!(wiki.text("a.md"), format!("{front}new\n"), "the front matter stays");
    let refused = wiki.update("a", "other\n", Some(&read.etag));
    assert!(matches!(refused, Err(WikiError::Changed { etag, .. }) if etag == second));
    wiki.update("a", "---\ntitle: T\n---\nown\n", None).unwrap();
    assert_eq!(wiki.text("a.md"), "---\ntitle: T\n---\nown\n");
    assert!(matches!(wiki.update("b", "", None), Err(WikiError::NoPage { .. })));
}

#[test]
fn keys_of_front_matter_change_alone_or_with_the_text() {
    let text = "---\n# keep\nowner: ann # since May\ntags: [a]\n---\nbody\n";
    let wiki = Wiki::with(&[("a.md", text), ("plain.md", "body\n")]);
    fs::write(wiki.folder.root().join("latin.md"), b"---\na: caf\xe9\n---\n").unwrap();
    let values = serde_json::json!({"owner": "bob", "tags": null, "draft": true});
    let change = |page: &str, text: Option<&str>| {
        let change = PageChange { text, front_matter: values.as_object() };
        wiki.folder.update(&path(page), &change, None)
    };
    change("a", None).unwrap();
    assert_eq!(wiki.text("a.md"), "---\n# keep\nowner: bob # since May\ndraft: true\n---\nbody\n");
    change("a", Some("new\n")).unwrap();
    assert_eq!(wiki.text("a.md"), "---\n# keep\nowner: bob # since May\ndraft: true\n---\nnew\n");
    change("plain", None).unwrap();
    assert_eq!(wiki.text("plain.md"), "---\ndraft: true\nowner: bob\n---\nbody\n");
    assert!(matches!(change("latin", None), Err(WikiError::NotUtf8(_))));
    assert!(matches!(wiki.update("latin", "x", None), Err(WikiError::NotUtf8(_))));
    assert!(wiki.update("latin", "---\n---\nx", None).is_ok());
}

#[test]
fn deleted_page_is_in_the_trash_or_in_git() {
    let wiki = Wiki::with(&[("x/a.md", "kept"), ("b.md", "[[a]] [[gone]]"), ("c.md", "committed")]);
    let root = wiki.folder.root();
    for arguments in [&["init", "--quiet"][..], &["add", "c.md"], &["commit", "--quiet", "-m", "c"]] {
        muninn_tests::git(root, arguments).unwrap();
    }
    let folder = WikiFolder::new(root, LinkStyle::Auto, &wiki.dir.path().join("state"), None).unwrap();
    let deleted = folder.delete(&path("x/a")).unwrap();
    assert_eq!(fs::read_to_string(deleted.trash.unwrap()).unwrap(), "kept");
    let broken: Vec<_> = deleted.broken.iter().map(|link| &*link.target).collect();
    assert_eq!(broken, ["a"]);
    assert!(!root.join("x").exists());
    assert_eq!(folder.delete(&path("c")).unwrap().trash, None);
    fs::write(root.join("c.md"), "not committed").unwrap();
    assert!(folder.delete(&path("c")).unwrap().trash.is_some());
}

#[test]
fn every_link_leads_where_it_led_before_a_move() {
    let wiki = Wiki::with(&[
        ("plans/old.md", "---\ntitle: The Plan\n---\nSee [a](a.md#x) and [[index]] and [[old]].\n"),
        ("plans/a.md", "[up](../index.md), [old](old.md \"t\")\r\n"),
        (
            "index.md",
            "[[plans/old]] [[old|shown]] [[shown|plans/old]] [[The Plan]] `[[plans/old]]` [p](/plans/old.md)\n",
        ),
        ("b.md", "[ref][r] ![[plans/old#part]]\n\n[r]: plans/old.md\n"),
        ("other.md", "nothing [[elsewhere]]"),
    ]);
    let moved = wiki.rename("plans/old", "archive/2026 plan/New (1)").unwrap();
    let rewritten: Vec<_> = moved.rewritten.iter().map(PagePath::as_str).collect();
    assert_eq!(rewritten, ["archive/2026 plan/New (1)", "b", "index", "plans/a"]);
    assert_eq!(
        wiki.text("archive/2026 plan/New (1).md"),
        "---\ntitle: The Plan\n---\nSee [a](../../plans/a.md#x) and [[index]] and [[archive/2026 plan/New (1)]].\n"
    );
    assert_eq!(wiki.text("plans/a.md"), "[up](../index.md), [old](../archive/2026%20plan/New%20%281%29.md \"t\")\r\n");
    assert_eq!(
        wiki.text("index.md"),
        "[[archive/2026 plan/New (1)]] [[archive/2026 plan/New (1)|shown]] [[archive/2026 plan/New (1)|shown]] \
         [[The Plan]] `[[plans/old]]` [p](/archive/2026%20plan/New%20%281%29.md)\n"
    );
    assert_eq!(
        wiki.text("b.md"),
        "[ref][r] ![[archive/2026 plan/New (1)#part]]\n\n[r]: archive/2026%20plan/New%20%281%29.md\n"
    );
    let pages = wiki.pages();
    let from: Vec<_> = pages.backlinks(&moved.to).iter().map(PagePath::as_str).collect();
    assert_eq!(from, ["archive/2026 plan/New (1)", "b", "index", "plans/a"]);
    assert!(!wiki.folder.root().join("plans/old.md").exists());
}

#[test]
fn separators_in_tables_stay_escaped() {
    let table = "|a|b|\n|-|-|\n| [[shown\\|a]] | [[a\\|shown]] |\n";
    let wiki = Wiki::with(&[("a.md", "text"), ("table.md", table)]);
    wiki.rename("a", "x/b").unwrap();
    let expected = "|a|b|\n|-|-|\n| [[x/b\\|shown]] | [[x/b\\|shown]] |\n";
    assert_eq!(wiki.text("table.md"), expected);
}

#[test]
fn names_that_a_move_makes_ambiguous_are_written_out() {
    let wiki = Wiki::with(&[("a/x.md", ""), ("b/y.md", ""), ("c.md", "[[x]] [[y]]")]);
    let moved = wiki.rename("b/y", "b/x").unwrap();
    assert_eq!(wiki.text("c.md"), "[[a/x]] [[b/x]]");
    assert_eq!(moved.rewritten, [path("c")]);
}

#[test]
fn links_by_name_and_by_title_are_kept_as_long_as_they_hold() {
    let files = [("plan.md", "# Plan\n"), ("a.md", "[[plan]] [[Big Plan]]"), ("b.md", "---\ntitle: Big Plan\n---\n")];
    let wiki = Wiki::with(&files);
    assert!(wiki.rename("plan", "x/plan").unwrap().rewritten.is_empty(), "the name is the same");
    assert!(wiki.rename("b", "c").unwrap().rewritten.is_empty(), "the title is the same");
    wiki.rename("x/plan", "x/other").unwrap();
    assert_eq!(wiki.text("a.md"), "[[x/other]] [[Big Plan]]", "the title `Plan` alone is not enough");
}

#[test]
fn refused_move_changes_nothing() {
    let wiki = Wiki::with(&[("a.md", "text"), ("b.md", "[[a]]"), ("c.md", "[[a]]")]);
    fs::write(wiki.folder.root().join("latin.md"), b"caf\xe9 [[a]]").unwrap();
    let before = wiki.files();
    assert!(matches!(wiki.rename("a", "b"), Err(WikiError::Exists(_))));
    assert!(matches!(wiki.rename("nothing", "d"), Err(WikiError::NoPage { .. })));
    assert!(matches!(wiki.rename("a", "x/d"), Err(WikiError::Link { .. })), "the text of latin.md is not UTF-8");
    assert_eq!(wiki.files(), before);
    fs::remove_file(wiki.folder.root().join("latin.md")).unwrap();
    assert_eq!(wiki.rename("a", "a").unwrap_err().to_string(), "there is a page a");
    wiki.rename("a", "x/d").unwrap();
}

#[test]
fn move_that_was_killed_after_any_write_is_undone() {
    let texts = [("a.md", "see [[b]] [x](c.md)"), ("b.md", "[[a]]"), ("c.md", "[a](a.md)"), ("d.md", "[[a|it]]")];
    let wiki = Wiki::with(&texts);
    let before = wiki.files();
    let root = wiki.folder.root().to_owned();
    let pages = wiki.pages();
    let plan = |to: &str| {
        let (page, file) = (pages.get(&path("a")).unwrap(), format!("{to}.md"));
        moving::plan(&pages, page, &path(to), &file, wiki.folder.style(), |page| wiki.folder.exact_text(page)).unwrap()
    };
    let journal = wiki.folder.state().join("move.json");
    private_file::dir(wiki.folder.state()).unwrap();
    let (plans, mut undone) = ([plan("n/a2"), plan("A")], 0);
    let writes = plans.each_ref().map(moving::Plan::writes);
    assert_eq!(writes, [5, 2], "four files and the removal, one and its new name");
    for (plan, killed_after) in plans.iter().flat_map(|plan| (0..=plan.writes()).map(move |count| (plan, count))) {
        for edited in [None, Some("b.md")] {
            private_file::replace(&journal, &serde_json::to_vec(plan).unwrap()).unwrap();
            plan.write_first(&root, killed_after).unwrap();
            let mut expected = before.clone();
            if let Some(file) = edited {
                fs::write(root.join(file), "edited since").unwrap();
                expected.insert(file.to_owned(), b"edited since".to_vec());
            }
            assert_eq!(wiki.pages().len(), 4);
            assert_eq!(wiki.files(), expected, "killed after {killed_after} writes");
            assert!(!journal.exists());
            fs::write(root.join("b.md"), "[[a]]").unwrap();
            undone += 1;
        }
    }
    assert_eq!(undone, 18);
}

#[test]
fn page_that_was_changed_after_a_killed_move_stays_at_its_new_place() {
    let wiki = Wiki::with(&[("a.md", "text"), ("b.md", "[[a]]")]);
    let root = wiki.folder.root().to_owned();
    let pages = wiki.pages();
    let plan = moving::plan(&pages, pages.get(&path("a")).unwrap(), &path("c"), "c.md", wiki.folder.style(), |page| {
        wiki.folder.exact_text(page)
    })
    .unwrap();
    for text in [Some("edited since"), None] {
        private_file::dir(wiki.folder.state()).unwrap();
        private_file::replace(&wiki.folder.state().join("move.json"), &serde_json::to_vec(&plan).unwrap()).unwrap();
        fs::write(root.join("a.md"), "text").unwrap();
        fs::write(root.join("b.md"), "[[a]]").unwrap();
        plan.write_first(&root, plan.writes()).unwrap();
        match text {
            Some(text) => fs::write(root.join("c.md"), text).unwrap(),
            None => fs::remove_file(root.join("c.md")).unwrap(),
        }
        wiki.pages();
        assert!(!root.join("a.md").exists());
        assert_eq!(fs::read_to_string(root.join("c.md")).ok().as_deref(), text);
        fs::remove_file(root.join("c.md")).ok();
    }
}

#[cfg(unix)]
#[test]
fn pages_stay_inside_the_wiki() {
    let wiki = Wiki::with(&[("a.md", "text")]);
    let outside = wiki.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, wiki.folder.root().join("link")).unwrap();
    assert!(matches!(wiki.create("link/x", "y"), Err(WikiError::Write(_))));
    assert!(wiki.rename("a", "link/a").is_err());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(wiki.text("a.md"), "text");
}

#[cfg(unix)]
#[test]
fn read_only_tree_is_read_and_refuses_changes() {
    use std::os::unix::fs::PermissionsExt as _;
    let wiki = Wiki::with(&[("a.md", "text"), ("b.md", "[[a]]")]);
    let root = wiki.folder.root();
    fs::set_permissions(root, fs::Permissions::from_mode(0o555)).unwrap();
    // root may write anywhere.
    let is_refused = fs::write(root.join("probe"), "").is_err();
    assert_eq!(wiki.pages().len(), 2);
    if is_refused {
        assert!(matches!(wiki.create("c", ""), Err(WikiError::Write(_))));
        assert!(wiki.rename("a", "d").is_err());
        assert_eq!(wiki.text("b.md"), "[[a]]");
    }
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_move_may_change_the_case_alone() {
    let wiki = Wiki::with(&[
        ("storage/nas.md", "text"),
        ("b.md", "[[nas]] [x](storage/nas.md)"),
        ("s/o.md", ""),
        ("s/p.md", ""),
    ]);
    for (from, to, file) in [
        ("storage/nas", "storage/NAS", "storage/NAS.md"),
        ("storage/NAS", "Storage/nas", "Storage/nas.md"),
        ("Storage/nas", "storage/nas", "storage/nas.md"),
        // The other page keeps the folder's name.
        ("s/o", "S/O", "s/O.md"),
    ] {
        let moved = wiki.rename(from, to).unwrap();
        assert_eq!(format!("{}.md", moved.to), file);
        assert!(wiki.files().contains_key(file), "{file}");
        assert_eq!(wiki.pages().len(), 4, "{file}");
        assert!(wiki.pages().broken().is_empty(), "{file}");
    }
    assert!(matches!(wiki.rename("s/p", "S/p"), Err(WikiError::Exists(_))));
    assert!(matches!(wiki.rename("s/p", "s/o"), Err(WikiError::Exists(_))));
}

#[test]
fn markdown_links_by_name_are_links_and_keep_their_form() {
    let wiki = Wiki::with(&[
        (
            "index.md",
            "[a](router.md) [b](Router#Ports) [c](NAS) [d](./homelab/router) [e](homelab/router.md) [f](/homelab/router.md)\n\
            [g](LICENSE) [h](src/main.rs) [i](../x) [j](pic.png) [k](none.md) [l](https://x.y/z)\n",
        ),
        ("homelab/router.md", "# Router\n"),
        ("homelab/nas.md", "[x](router.md) [y](router)\n"),
    ]);
    let pages = wiki.pages();
    let from: Vec<_> = pages.backlinks(&path("homelab/router")).iter().map(PagePath::as_str).collect();
    assert_eq!(from, ["homelab/nas", "index"]);
    assert_eq!(pages.backlinks(&path("homelab/nas")).len(), 1);
    let broken: Vec<_> = pages.broken().iter().map(|link| &*link.target).collect();
    assert_eq!(broken, ["none.md"], "what may be another file is no broken link");
    wiki.rename("homelab/router", "net/gateway").unwrap();
    assert_eq!(
        wiki.text("index.md").lines().next().unwrap(),
        "[a](gateway.md) [b](gateway#Ports) [c](NAS) [d](net/gateway) [e](net/gateway.md) [f](/net/gateway.md)"
    );
    assert_eq!(wiki.text("homelab/nas.md"), "[x](../net/gateway.md) [y](../net/gateway)\n");
}

#[test]
fn names_may_have_a_number_sign() {
    let wiki = Wiki::with(&[
        ("F#.md", "# F\n"),
        ("C#/notes.md", "text\n"),
        ("F.md", "other\n"),
        (
            "index.md",
            "[[F#]] [[C#/notes]] [[F##Types|f]] [f](F%23.md) [n](C%23/notes.md#Top) [[F#Types]] [[notes#Top]]\n",
        ),
    ]);
    let pages = wiki.pages();
    assert!(pages.broken().is_empty() && pages.notes.is_empty(), "{:?} {:?}", pages.broken(), pages.notes);
    let targets = pages.targets(pages.get(&path("index")).unwrap(), wiki.folder.style());
    assert_eq!(targets, [path("F#"), path("C#/notes"), path("F")]);
    wiki.rename("F#", "langs/G#").unwrap();
    wiki.rename("C#/notes", "D#").unwrap();
    assert_eq!(
        wiki.text("index.md"),
        "[[langs/G#]] [[D#]] [[langs/G##Types|f]] [f](langs/G%23.md) [n](D%23.md#Top) [[F#Types]] [[D##Top]]\n"
    );
    assert_eq!(wiki.create("H#", "x").unwrap(), path("H#"));
}

#[test]
fn a_page_is_found_by_its_name_and_a_near_one_is_named() {
    let wiki = Wiki::with(&[("homelab/nas.md", "# Second Storage\n"), ("a/x.md", ""), ("b/x.md", "")]);
    let pages = wiki.pages();
    for name in ["homelab/nas", "nas", "NAS", "nas.md", "Second Storage", "HOMELAB/Nas"] {
        assert_eq!(pages.find_named(&path(name)).unwrap().path, path("homelab/nas"), "{name}");
    }
    for (name, near) in [("nass", "homelab/nas"), ("homelb/nas", "homelab/nas"), ("other/nas", "homelab/nas")] {
        let error = pages.find_named(&path(name)).unwrap_err().to_string();
        assert_eq!(error, format!("there is no page {name}; did you mean {near}?"));
    }
    assert_eq!(pages.find_named(&path("zzz")).unwrap_err().to_string(), "there is no page zzz");
    assert!(pages.find_named(&path("x")).is_err(), "two pages have this name");
    // A change needs the whole path.
    assert!(wiki.update("nas", "text", None).is_err() && wiki.rename("nas", "b").is_err());
}

#[test]
fn a_page_that_would_not_be_read_is_not_written() {
    let wiki = Wiki::with(&[("a.md", "text")]);
    let deep = |folders: usize| format!("{}page", "d/".repeat(folders));
    assert!(wiki.create(&deep(15), "text").is_ok());
    assert_eq!(wiki.pages().len(), 2, "what is written is read");
    for refused in [wiki.create(&deep(16), "text").map(drop), wiki.rename("a", &deep(16)).map(drop)] {
        assert!(matches!(refused, Err(WikiError::Full(Full::Depth))), "{refused:?}");
    }
    assert_eq!(wiki.pages().len(), 2);

    let fixture =
        muninn_repo_tools::fixture::Fixture::with(&[(".muninn/knowledge/a.md", "text"), ("docs/a.md", "text")]);
    let state = tempfile::tempdir().unwrap();
    let open = |folder: &str| WikiFolder::new(&fixture.path(folder), LinkStyle::Auto, state.path(), None).unwrap();
    let (team, docs) = (open(".muninn/knowledge"), open("docs"));
    let text = "x".repeat((1 << 20) + 1);
    let long = PageChange { text: Some(&text), front_matter: None };
    for refused in [team.create(&path("b"), &text).map(drop), team.update(&path("a"), &long, None).map(drop)] {
        assert!(matches!(refused, Err(WikiError::Full(Full::FileBytes { most: 1_048_576, .. }))), "{refused:?}");
    }
    // Another wiki has longer pages.
    docs.create(&path("b"), &text).unwrap();
    let nearly = "x".repeat(1 << 20);
    for number in 0..15 {
        team.create(&path(&format!("p{number}")), &nearly).unwrap();
    }
    let refused = team.create(&path("last"), &nearly);
    assert!(matches!(refused, Err(WikiError::Full(Full::Bytes { .. }))), "{refused:?}");
    team.create(&path("small"), "text").unwrap();
    let worktree = fixture.worktree();
    assert_eq!(muninn_team::knowledge::list(&worktree, None).len(), 17, "all of it is read as knowledge");
    for number in 0..1_983 {
        std::fs::write(fixture.path(&format!(".muninn/knowledge/n{number}.md")), "x").unwrap();
    }
    let refused = team.create(&path("one-more"), "text");
    assert!(matches!(refused, Err(WikiError::Full(Full::Files { most: 2_000 }))), "{refused:?}");
}
