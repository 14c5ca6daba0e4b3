//! Worktrees that come while the gateway runs, each named by the request.

use std::fs;

use super::world::{World, code};

#[test]
fn a_worktree_that_was_just_added() {
    let world = World::new(&[("src/zebra.rs", &code("Zebra", "main", 0)), ("src/okapi.rs", &code("Okapi", "same", 0))]);
    world.while_others_ask(&["Zebra", "Okapi"], || {
        for name in ["linked", "linked_too"] {
            let linked = world.folder().join(name);
            world.git(&["worktree", "add", "--quiet", "-b", name, linked.to_str().unwrap()]);
            world.expect_in(&linked, "Okapi", &["src/okapi.rs: stripes_same"]);
            world.write_in(&linked, "src/zebra.rs", &code("Zebra", name, 9));
            world.expect_in(&linked, "Zebra", &[&format!("src/zebra.rs: stripes_{name}")]);
            world.write_in(&linked, "own/deep/tapir.rs", &code("Tapir", name, 1));
            world.expect_in(&linked, "Tapir", &[&format!("own/deep/tapir.rs: stripes_{name}")]);
            // The other worktree has none of it.
            world.expect("Zebra", &["src/zebra.rs: stripes_main"]);
            assert_eq!(world.found("Tapir"), [""; 0]);
        }
        world.write("src/zebra.rs", &code("Zebra", "moved_on", 2));
        world.expect("Zebra", &["src/zebra.rs: stripes_moved_on"]);
        let linked = world.folder().join("linked");
        world.expect_in(&linked, "Zebra", &["src/zebra.rs: stripes_linked"]);
        world.env.git(&linked, &["checkout", "--quiet", "--", "src/zebra.rs"]);
        world.expect_in(&linked, "Zebra", &["src/zebra.rs: stripes_main"]);
    });
}

#[test]
fn a_worktree_below_the_served_one() {
    let world = World::new(&[("src/zebra.rs", &code("Zebra", "main", 0))]);
    world.while_others_ask(&["Zebra", "Okapi"], || {
        let below = world.root.join("trees/below");
        world.git(&["worktree", "add", "--quiet", "-b", "below", below.to_str().unwrap()]);
        world.write_in(&below, "src/okapi.rs", &code("Okapi", "below", 3));
        world.expect_in(&below, "Okapi", &["src/okapi.rs: stripes_below"]);
        assert_eq!(world.found("Okapi"), [""; 0], "it is another worktree's");
        world.git(&["worktree", "remove", "--force", below.to_str().unwrap()]);
        world.write("trees/below/okapi.rs", &code("Okapi", "plain", 0));
        world.expect("Okapi", &["trees/below/okapi.rs: stripes_plain"]);
        fs::remove_dir_all(world.root.join("trees")).unwrap();
        assert_eq!(world.found("Okapi"), [""; 0]);
    });
}
