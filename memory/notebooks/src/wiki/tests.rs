use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::*;

const MOST_PAGE_BYTES: usize = 4 << 20;

fn folder(pages: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in pages {
        write(folder.path(), path, text);
    }
    folder
}

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn read(root: &Path, style: LinkStyle) -> Arc<Pages> {
    Pages::read(root, style, &Arc::default())
}

fn path(path: &str) -> PagePath {
    PagePath::new(path).unwrap()
}

fn strings(paths: &[PagePath]) -> Vec<&str> {
    paths.iter().map(PagePath::as_str).collect()
}

#[test]
fn titles_links_and_backlinks_are_those_of_the_files() {
    let folder = folder(&[
        ("index.md", "# Home\n[[projects/mind-map]] and [[The Plan]] and [[gone]]\n"),
        ("projects/mind-map.md", "---\ntitle: \"Mind Map\"\naliases: [mm, memory]\n---\nBack [home](../index.md).\n"),
        ("projects/plans/digest.md", "Text.\n# The plan\n[[mind-map|shown]] [[mm]] [[Memory#part]]\n"),
        ("lonely.md", ""),
    ]);
    let pages = read(folder.path(), LinkStyle::Auto);
    assert_eq!((pages.len(), &pages.notes[..]), (4, &[][..]));
    let title = |page: &str| &*pages.get(&path(page)).unwrap().title;
    assert_eq!(title("index"), "Home");
    assert_eq!(title("projects/mind-map"), "Mind Map");
    assert_eq!(title("projects/plans/digest"), "The plan");
    assert_eq!(title("lonely"), "lonely");
    assert_eq!(title("PROJECTS/Mind-Map"), "Mind Map", "in any case");
    assert_eq!(strings(pages.backlinks(&path("projects/mind-map"))), ["index", "projects/plans/digest"]);
    assert_eq!(strings(pages.backlinks(&path("index"))), ["projects/mind-map"]);
    let home = pages.get(&path("index")).unwrap();
    assert_eq!(strings(&pages.targets(home, LinkStyle::Auto)), ["projects/mind-map", "projects/plans/digest"]);
    let broken: Vec<_> = pages.broken().iter().map(|link| (link.page.as_str(), &*link.target)).collect();
    assert_eq!(broken, [("index", "gone")]);
    let orphans: Vec<_> = pages.orphans().map(|page| page.path.as_str()).collect();
    assert_eq!(orphans, ["lonely"]);
    let body = pages.get(&path("projects/mind-map")).unwrap().body(folder.path()).unwrap();
    assert_eq!(body, "Back [home](../index.md).\n");
}

#[test]
fn both_orders_of_halves_are_understood() {
    let folder = folder(&[("a.md", "[[the b|b]] [[b|the b]] [[x|y]]"), ("b.md", ""), ("the b.md", "")]);
    let targets = |style| {
        let pages = read(folder.path(), style);
        let links = pages.get(&path("a")).unwrap().links.len();
        assert_eq!(links, 3);
        let broken: Vec<_> = pages.broken().iter().map(|link| link.target.clone()).collect();
        let targets = pages.targets(pages.get(&path("a")).unwrap(), style);
        (strings(&targets).join(" "), broken.join(" "))
    };
    assert_eq!(targets(LinkStyle::MindMap), ("b the b".to_owned(), "y".to_owned()));
    assert_eq!(targets(LinkStyle::Obsidian), ("the b b".to_owned(), "x".to_owned()));
    fs::remove_file(folder.path().join("the b.md")).unwrap();
    assert_eq!(targets(LinkStyle::Auto), ("b".to_owned(), "x".to_owned()), "the half that is a page");
}

#[test]
fn heading_of_a_part_is_no_title() {
    let folder = folder(&[
        ("a.md", "\n## Appendix A\n# Other\n"),
        ("b.md", "Text.\n## Part\n# Title #\n"),
        ("c.md", "Text.\n## Part\n```\n# code\n```\n"),
    ]);
    let pages = read(folder.path(), LinkStyle::Auto);
    let titles: Vec<_> = pages.iter().map(|page| &*page.title).collect();
    assert_eq!(titles, ["Appendix A", "Title", "c"]);
}

#[test]
fn page_beside_the_link_is_meant_if_several_have_a_name() {
    let folder = folder(&[
        ("Sync/keys.md", "[[Security]] [[sub/x]] [[y]]"),
        ("Sync/Security.md", ""),
        ("Sync/sub/x.md", "[[Security]]"),
        ("Publish/Security.md", ""),
        ("Publish/sub/x.md", ""),
        ("y.md", "[[Security]]"),
        ("Sync/y.md", ""),
    ]);
    let pages = read(folder.path(), LinkStyle::Auto);
    let links = |page: &str| pages.targets(pages.get(&path(page)).unwrap(), LinkStyle::Auto);
    assert_eq!(strings(&links("Sync/keys")), ["Sync/Security", "Sync/sub/x", "y"]);
    let broken: Vec<_> = pages.broken().iter().map(|link| link.page.as_str()).collect();
    assert_eq!(broken, ["Sync/sub/x", "y"]);
}

#[test]
fn changed_files_are_read_again_and_others_are_not() {
    let folder = folder(&[("a.md", "[[b]]"), ("b.md", "# B")]);
    let first = read(folder.path(), LinkStyle::Auto);
    write(folder.path(), "b.md", "# Another B");
    write(folder.path(), "c/d.md", "[[a]]");
    fs::remove_file(folder.path().join("a.md")).unwrap();
    let second = Pages::read(folder.path(), LinkStyle::Auto, &first);
    assert_eq!(second.len(), 2);
    assert_eq!(second.get(&path("b")).unwrap().title, "Another B");
    assert!(second.backlinks(&path("b")).is_empty());
    assert_eq!(second.broken().len(), 1);
}

#[test]
fn bad_files_are_noted_and_harm_nothing() {
    let folder = folder(&[
        ("good.md", "fine"),
        ("nul.md", "reserved"),
        ("list.md", "---\n- a\n- b\n---\ntext [[good]]\n"),
        ("open.md", "---\ntitle: x\nnever closed [[good]]\n"),
        ("crlf.md", "---\r\ntitle: Windows\r\n---\r\n[[good]]\r\n"),
        ("merge.md", "<<<<<<< a\n[[good]]\n=======\n[[good]]\n>>>>>>> b\n"),
        ("note.txt", "no page"),
        (".obsidian/workspace.md", "[[good]]"),
    ]);
    fs::write(folder.path().join("binary.md"), b"\0\x01").unwrap();
    fs::write(folder.path().join("huge.md"), "x".repeat(MOST_PAGE_BYTES + 1)).unwrap();
    let front = format!("---\ntitle: Long\nnote: |\n{}---\n[[good]]", "  line\n".repeat(150_000));
    fs::write(folder.path().join("front.md"), front).unwrap();
    fs::write(folder.path().join("latin.md"), b"caf\xe9 [[good]]").unwrap();
    fs::create_dir(folder.path().join("folder.md")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link.md")).unwrap();
    let pages = read(folder.path(), LinkStyle::Auto);
    let names: Vec<_> = pages.iter().map(|page| page.path.as_str()).collect();
    assert_eq!(names, ["crlf", "front", "good", "latin", "list", "merge", "open"]);
    assert_eq!(strings(pages.backlinks(&path("good"))), ["crlf", "front", "latin", "list", "merge", "open"]);
    assert_eq!(pages.get(&path("front")).unwrap().title, "Long");
    assert_eq!(pages.get(&path("crlf")).unwrap().title, "Windows");
    let notes = pages.notes.join("\n");
    for note in ["nul.md: ", "binary.md: it is a binary file", "huge.md: skipped: it has 4194305 bytes"] {
        assert!(notes.contains(note), "{notes}");
    }
}

#[test]
fn composed_and_decomposed_names_are_one_page() {
    let folder = folder(&[("cafe\u{301}.md", "# Decomposed"), ("a.md", "[[café]] [[CAFÉ]]")]);
    let pages = read(folder.path(), LinkStyle::Auto);
    assert_eq!(strings(pages.backlinks(&path("café"))), ["a"]);
    assert!(pages.broken().is_empty());
    assert_eq!(pages.get(&path("café")).unwrap().file, "cafe\u{301}.md");
}

fn digest(root: &Path, recents: &[&str], most: usize) -> Digest {
    let pages = read(root, LinkStyle::Auto);
    let recents = recents.iter().map(|page| path(page)).collect();
    let all: Vec<&Page> = pages.iter().collect();
    let terms = cloud(&all, |page| page.body(root).ok(), 50, &[]);
    Digest::of(&pages, terms, recents, most)
}

#[test]
fn digest_has_the_shape_of_the_specification() {
    let folder = folder(&[
        ("foo/index.md", "# Foo Area\nmind-map mind-map\n"),
        ("foo/one.md", "mind-map web ui\n"),
        ("bar/two.md", "web ui\n"),
        ("flat.md", "web\n"),
    ]);
    let digest = digest(folder.path(), &["foo/one", "flat"], MOST_BYTES);
    assert_eq!(
        digest.markdown,
        "This wiki contains 4 pages across 2 areas. About:\n\
         mind-map, web, ui, web ui, area, area mind-map, foo, foo area, mind-map mind-map, mind-map web\n\
         \n## Areas\n- foo (2) — foo/index: \"Foo Area\"\n- bar (1)\n\
         \n## Recently active\n- foo/one\n- flat\n\
         \n`muninn wiki digest` shows the live version.\n"
    );
    assert_eq!((digest.page_count, digest.areas.len()), (4, 2));
}

#[test]
fn digest_is_trimmed_from_the_recents_then_the_terms_and_never_the_footer() {
    let folder = folder(&[("foo/index.md", "alpha beta gamma"), ("bar/x.md", ""), ("baz/y.md", "")]);
    let whole = digest(folder.path(), &["foo/index", "bar/x"], 0).markdown;
    let sizes = (0..=whole.len()).rev().step_by(7);
    let mut before = whole;
    for most in sizes.take_while(|most| *most > 0) {
        let text = digest(folder.path(), &["foo/index", "bar/x"], most).markdown;
        assert!(text.ends_with("shows the live version.\n"));
        let has = |text: &str, part: &str| text.contains(part);
        assert!(!has(&text, "## Recently") || has(&text, "alpha beta, "), "terms go after the pages: {text}");
        assert!(text.len() <= before.len());
        if text.len() > most {
            assert!(!has(&text, "foo (1)") && has(&text, "3 more areas, left out for size"), "{most}: {text}");
        }
        before = text;
    }
    let narrow = digest(folder.path(), &["foo/index"], 164).markdown;
    assert!(narrow.contains("- foo (1)") && !narrow.contains("About"), "areas stay: {narrow}");
}

#[test]
fn search_ranks_titles_first_and_follows_the_files() {
    let folder = folder(&[
        ("http/errors.md", "# Error handling\nNever guess a status.\nThe gateway maps timeouts to 504.\n"),
        ("http/retries.md", "# Retries\nErrors of the backend are retried twice.\n"),
        ("cats.md", "Cats sleep.\n"),
    ]);
    let pages = read(folder.path(), LinkStyle::Auto);
    let state = tempfile::tempdir().unwrap();
    let kept = PageSearch::new(&WikiFolder::new(folder.path(), LinkStyle::Auto, state.path(), None).unwrap());
    let search = |pages: &Pages, query: &str| -> Vec<(String, String)> {
        let found = kept.find(query, pages, 20).into_iter();
        found.map(|found| (found.path.to_string(), found.snippet)).collect()
    };
    let found = search(&pages, "how are errors handled?");
    assert_eq!(found[0], ("http/errors".to_owned(), "# Error handling".to_owned()));
    assert_eq!(found[1].0, "http/retries");
    assert_eq!(search(&pages, "timeouts")[0].1, "The gateway maps timeouts to 504.");
    assert!(search(&pages, "zebra").is_empty() && search(&pages, "").is_empty());
    write(folder.path(), "cats.md", "Zebras gallop.\n");
    fs::remove_file(folder.path().join("http/errors.md")).unwrap();
    let pages = read(folder.path(), LinkStyle::Auto);
    assert_eq!(search(&pages, "zebra")[0].0, "cats");
    assert_eq!(search(&pages, "errors").len(), 1);
    assert!(search(&pages, "sleep").is_empty());
}
