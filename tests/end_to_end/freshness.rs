//! Freshness: the next request after a change on disk gets the new content, while other clients ask without a pause.
//!
//! Each test makes changes as a person, an editor or git makes them. As soon as a change has returned, the test asks a
//! question that needs the change: the answering file is new, has new words, or has a new path. Meanwhile several clients
//! ask in a loop. Each block that they get must have been on disk at some time: these lines, with these numbers, of this
//! blob.

mod places;
mod world;

use std::fs;

use world::{World, code, question};

#[test]
fn an_edit() {
    let world = World::new(&[("src/zebra.rs", &code("Zebra", "first", 0)), ("src/lib.rs", "pub mod zebra;\n")]);
    world.while_others_ask(&["Zebra", "Okapi"], || {
        for (n, mark) in ["second", "third", "fourth", "fifth"].into_iter().enumerate() {
            // Different words on different lines.
            world.write("src/zebra.rs", &code("Zebra", mark, 7 * (n + 1) % 20));
            world.expect("Zebra", &[&format!("src/zebra.rs: stripes_{mark}")]);
        }
        // A file that had nothing to do with it.
        assert_eq!(world.found("Okapi"), [""; 0]);
        world.write("src/lib.rs", &code("Okapi", "late", 3));
        world.expect("Okapi", &["src/lib.rs: stripes_late"]);
        world.save("src/lib.rs", &code("Okapi", "saved", 5));
        world.expect("Okapi", &["src/lib.rs: stripes_saved"]);
        world.write("src/lib.rs", "pub mod zebra;\n");
        assert_eq!(world.found("Okapi"), [""; 0]);
    });
}

#[test]
fn new_files_and_directories() {
    let world = World::new(&[("src/lib.rs", "pub mod zebra;\n")]);
    world.while_others_ask(&["Zebra", "Okapi", "Tapir"], || {
        world.write("src/zebra.rs", &code("Zebra", "one", 0));
        world.expect("Zebra", &["src/zebra.rs: stripes_one"]);
        world.write("new/and/deep/okapi.rs", &code("Okapi", "one", 2));
        world.expect("Okapi", &["new/and/deep/okapi.rs: stripes_one"]);
        world.write("new/and/deep/okapi.rs", &code("Okapi", "two", 4));
        world.expect("Okapi", &["new/and/deep/okapi.rs: stripes_two"]);
        // A directory that is complete before it comes.
        let outside = world.env.path("outside");
        world.learn("moved/in/tapir.rs", &code("Tapir", "one", 1));
        fs::create_dir_all(outside.join("in")).unwrap();
        fs::write(outside.join("in/tapir.rs"), code("Tapir", "one", 1)).unwrap();
        fs::rename(&outside, world.root.join("moved")).unwrap();
        world.expect("Tapir", &["moved/in/tapir.rs: stripes_one"]);
    });
}

#[test]
fn deleted_files_and_directories() {
    let world = World::new(&[
        ("src/zebra.rs", &code("Zebra", "one", 0)),
        ("src/herd/zebra.rs", &code("Zebra", "herd", 9)),
        ("far/okapi.rs", &code("Okapi", "one", 0)),
    ]);
    world.while_others_ask(&["Zebra", "Okapi"], || {
        world.expect("Zebra", &["src/herd/zebra.rs: stripes_herd", "src/zebra.rs: stripes_one"]);
        fs::remove_file(world.root.join("src/zebra.rs")).unwrap();
        world.expect("Zebra", &["src/herd/zebra.rs: stripes_herd"]);
        world.expect("Okapi", &["far/okapi.rs: stripes_one"]);
        fs::remove_dir_all(world.root.join("far")).unwrap();
        assert_eq!(world.found("Okapi"), [""; 0]);
        world.write("far/okapi.rs", &code("Okapi", "back", 3));
        world.expect("Okapi", &["far/okapi.rs: stripes_back"]);
    });
}

#[test]
fn renamed_files_and_directories() {
    let world =
        World::new(&[("src/zebra.rs", &code("Zebra", "one", 0)), ("near/by/okapi.rs", &code("Okapi", "one", 0))]);
    world.learn("src/Horse.rs", &code("Zebra", "one", 0));
    world.learn("far/by/okapi.rs", &code("Okapi", "one", 0));
    world.while_others_ask(&["Zebra", "Okapi"], || {
        world.rename("src/zebra.rs", "src/Horse.rs");
        world.expect("Zebra", &["src/Horse.rs: stripes_one"]);
        world.rename("near", "far");
        world.expect("Okapi", &["far/by/okapi.rs: stripes_one"]);
        world.write("far/by/okapi.rs", &code("Okapi", "two", 6));
        world.expect("Okapi", &["far/by/okapi.rs: stripes_two"]);
        world.learn("near/by/okapi.rs", &code("Okapi", "two", 6));
        world.rename("far", "near");
        world.expect("Okapi", &["near/by/okapi.rs: stripes_two"]);
    });
}

#[test]
fn an_ignore_file() {
    let world =
        World::new(&[("local/zebra.rs", &code("Zebra", "local", 0)), ("src/okapi.rs", &code("Okapi", "one", 0))]);
    world.while_others_ask(&["Zebra", "Okapi"], || {
        world.expect("Zebra", &["local/zebra.rs: stripes_local"]);
        world.write(".gitignore", "local/\n");
        assert_eq!(world.found("Zebra"), [""; 0]);
        world.write("local/zebra.rs", &code("Zebra", "unseen", 0));
        world.write(".gitignore", "nothing/\n");
        world.expect("Zebra", &["local/zebra.rs: stripes_unseen"]);
        world.write("local/zebra.rs", &code("Zebra", "seen", 2));
        world.expect("Zebra", &["local/zebra.rs: stripes_seen"]);
    });
}

/// `main` and `side`: a file that both have, one that only one has, and one that lies elsewhere on the other.
fn forked() -> World {
    let world = World::new(&[
        ("src/zebra.rs", &code("Zebra", "main", 0)),
        ("src/okapi.rs", &code("Okapi", "same", 0)),
        ("only/main/tapir.rs", &code("Tapir", "main", 0)),
    ]);
    world.learn("elsewhere/okapi.rs", &code("Okapi", "same", 0));
    world.git(&["checkout", "--quiet", "-b", "side"]);
    world.write("src/zebra.rs", &code("Zebra", "side", 11));
    world.write("only/side/quagga.rs", &code("Quagga", "side", 0));
    world.git(&["rm", "--quiet", "-r", "only/main"]);
    world.rename("src/okapi.rs", "elsewhere/okapi.rs");
    world.env.commit(&world.root, "side");
    world.git(&["checkout", "--quiet", "main"]);
    world
}

fn expect_main(world: &World) {
    world.expect("Zebra", &["src/zebra.rs: stripes_main"]);
    world.expect("Tapir", &["only/main/tapir.rs: stripes_main"]);
    world.expect("Okapi", &["src/okapi.rs: stripes_same"]);
    assert_eq!(world.found("Quagga"), [""; 0]);
}

fn expect_side(world: &World) {
    world.expect("Quagga", &["only/side/quagga.rs: stripes_side"]);
    world.expect("Zebra", &["src/zebra.rs: stripes_side"]);
    world.expect("Okapi", &["elsewhere/okapi.rs: stripes_same"]);
    assert_eq!(world.found("Tapir"), [""; 0]);
}

#[test]
fn a_checkout_of_another_branch() {
    let world = forked();
    world.while_others_ask(&["Zebra", "Okapi", "Tapir", "Quagga"], || {
        for _ in 0..3 {
            world.git(&["checkout", "--quiet", "side"]);
            expect_side(&world);
            world.git(&["checkout", "--quiet", "main"]);
            expect_main(&world);
        }
        world.git(&["reset", "--quiet", "--hard", "side"]);
        expect_side(&world);
    });
}

#[test]
fn a_rebase() {
    let world = forked();
    world.write("src/eland.rs", &code("Eland", "main", 4));
    world.env.commit(&world.root, "more on main");
    world.git(&["checkout", "--quiet", "side"]);
    world.while_others_ask(&["Zebra", "Okapi", "Tapir", "Eland"], || {
        expect_side(&world);
        assert_eq!(world.found("Eland"), [""; 0]);
        world.git(&["rebase", "--quiet", "main"]);
        world.expect("Eland", &["src/eland.rs: stripes_main"]);
        expect_side(&world);
        world.write("only/side/quagga.rs", &code("Quagga", "later", 2));
        world.expect("Quagga", &["only/side/quagga.rs: stripes_later"]);
    });
}

#[test]
fn a_stash_and_its_return() {
    let world = forked();
    world.while_others_ask(&["Zebra", "Eland"], || {
        for mark in ["tried", "tried_again"] {
            world.write("src/zebra.rs", &code("Zebra", mark, 8));
            world.write("src/fresh/eland.rs", &code("Eland", mark, 1));
            world.expect("Eland", &[&format!("src/fresh/eland.rs: stripes_{mark}")]);
            world.git(&["stash", "--quiet", "--include-untracked"]);
            world.expect("Zebra", &["src/zebra.rs: stripes_main"]);
            assert_eq!(world.found("Eland"), [""; 0]);
            world.git(&["stash", "pop", "--quiet"]);
            world.expect("Zebra", &[&format!("src/zebra.rs: stripes_{mark}")]);
            world.expect("Eland", &[&format!("src/fresh/eland.rs: stripes_{mark}")]);
        }
    });
}

#[test]
fn test_question_matches_no_other_file() {
    let world = World::new(&[("src/zebra.rs", &code("Zebra", "one", 0))]);
    assert_eq!(world.found("Okapi"), [""; 0]);
    world.expect("Zebra", &["src/zebra.rs: stripes_one"]);
    assert!(question("Zebra").contains("ZebraPainter"));
}
