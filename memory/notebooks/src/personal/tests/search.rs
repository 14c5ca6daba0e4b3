//! The search of personal memory.

use super::*;

#[test]
fn entries_and_entities_are_found_at_once_and_by_type() {
    let place = Place::new();
    let personal = place.open();
    personal.log("cooking", "Made a pasta carbonara with fresh eggs", EntryMetadata::default()).unwrap();
    assert_eq!(contents(&personal, "pasta", &all(5)), ["[cooking] Made a pasta carbonara with fresh eggs"]);
    place.write("entities/people/bob.md", "# Bob\n\n## About\n\nBackend developer of systems in Rust.\n");
    place.write("entities/projects/auth.md", "# Auth\n\n## Description\n\nAuthentication service.\n");
    place.write("entities/topics/tea.md", "# Tea\n\nGreen tea at four.\n");
    let found = personal.search("rust systems", &all(5)).unwrap();
    assert_eq!((&found[0].kind, found[0].section.as_deref()), (&ItemType::Person, Some("About")));
    assert_eq!(found[0].source, "entities/people/bob.md");
    let projects = SearchOptions { kind: Some(ItemType::Project), ..all(5) };
    assert!(
        personal.search("authentication service", &projects).unwrap().iter().all(|item| item.kind == ItemType::Project)
    );
    let topics = SearchOptions { kind: Some(ItemType::from("topics".to_owned())), ..all(5) };
    assert_eq!(personal.search("green tea", &topics).unwrap().len(), 1);
    let written = serde_json::to_value(&found[0]).unwrap();
    assert_eq!(written["type"], "person");
}

#[test]
fn changed_renamed_and_removed_files_are_followed() {
    let place = Place::new();
    let personal = place.open();
    let path = place.write("entities/people/ann.md", "# Ann\n\nLikes zebras.\n");
    let journal = place.write(
        "journal/2026-03-09.jsonl",
        "{\"timestamp\":\"2026-03-09T11:00:00Z\",\"topic\":\"a\",\"content\":\"saw an okapi\"}\n",
    );
    assert_eq!(contents(&personal, "zebras", &all(1)).len(), 1);
    fs::write(&path, "# Ann\n\nLikes tapirs.\n").unwrap();
    assert_eq!(contents(&personal, "tapirs", &all(1)).len(), 1);
    assert!(contents(&personal, "zebras", &all(5)).iter().all(|text| !text.contains("zebras")));
    // An older line is edited by hand, so that the file is read anew.
    fs::write(&journal, place.read("journal/2026-03-09.jsonl").replace("okapi", "quagga")).unwrap();
    assert_eq!(contents(&personal, "quagga", &all(1)), ["[a] saw an quagga"]);
    assert_eq!(contents(&personal, "okapi", &all(5)).iter().filter(|text| text.contains("okapi")).count(), 0);
    fs::rename(&path, path.with_file_name("anna.md")).unwrap();
    let found = personal.search("tapirs", &all(5)).unwrap();
    assert_eq!(found.iter().filter(|item| item.content.contains("tapirs")).count(), 1);
    assert!(found[0].source.ends_with("anna.md"));
    fs::remove_file(path.with_file_name("anna.md")).unwrap();
    assert!(personal.search("tapirs", &all(5)).unwrap().iter().all(|item| !item.content.contains("tapirs")));
}

#[test]
fn next_process_reads_the_kept_index_and_only_what_is_new() {
    let place = Place::new();
    let line = |at: usize| {
        let entry = json!({"timestamp": format!("2026-03-01T10:{:02}:00Z", at % 60), "topic": "n", "content": format!("number{at} of them")});
        format!("{entry}\n")
    };
    let path = place.write("journal/2026-03-01.jsonl", &(0..700).map(line).collect::<String>());
    let long_ago = SystemTime::now() - Duration::from_secs(600);
    fs::File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(contents(&place.open(), "number642", &all(1)), ["[n] number642 of them"]);
    assert!(fs::read_dir(place.directory.path().join(".index")).unwrap().count() > 0);
    // A damaged file with the old time: the index is believed, and the text is no longer there.
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("number642", "numb#r642")).unwrap();
    fs::File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let next = place.open();
    assert_eq!(contents(&next, "number642", &all(1)), ["[n] numb#r642 of them"]);
    for at in 700..710 {
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str(&line(at));
        fs::write(&path, text).unwrap();
    }
    assert_eq!(contents(&next, "number709", &all(1)), ["[n] number709 of them"]);
    assert_eq!(contents(&next, "number3", &all(1)), ["[n] number3 of them"]);
}

#[test]
fn since_is_a_date_or_a_time() {
    let place = Place::new();
    for year in ["2024", "2025"] {
        place.write(
            &format!("journal/{year}-06-01.jsonl"),
            &format!("{{\"timestamp\":\"{year}-06-01T10:00:00Z\",\"topic\":\"y\",\"content\":\"entry of {year}\"}}\n"),
        );
    }
    let personal = place.open();
    let since = |text: &str| {
        let since = Some(time(text, &TimeZone::UTC).unwrap());
        contents(&personal, "entry", &SearchOptions { since, ..all(9) })
    };
    assert_eq!(since("2025-01-01"), ["[y] entry of 2025"]);
    assert_eq!(since("2025-06-01T10:00:01Z"), Vec::<String>::new());
    assert_eq!(since("2024-06-01T00:00").len(), 2);
    assert!(time("yesterday", &TimeZone::UTC).is_err());
}

#[test]
fn huge_entity_is_searched_in_its_first_part() {
    let place = Place::new();
    place.write("entities/people/long.md", &format!("# Long\n\nzebra\n\n{}", "filler words\n".repeat(1_600_000)));
    let found = place.open().search("zebra", &all(1)).unwrap();
    assert_eq!(found[0].kind, ItemType::Person);
}

/// From so many files on, the directory is watched, and a search looks at none of them as long as nothing changes.
#[test]
fn many_files_are_watched_and_not_looked_at() {
    let place = Place::new();
    for number in 0..600 {
        place.write(&format!("entities/people/p{number}.md"), "# P\n\nA sailor.\n");
    }
    let personal = place.open();
    let supervisor = muninn_base::Supervisor::default();
    personal.watch(&supervisor);
    assert_eq!(contents(&personal, "sailor", &all(1)).len(), 1);
    assert!(personal.is_watched(Duration::from_secs(30)), "nothing reports changes");
    // A child process of another test inherits open files, and closes them again later, which is reported once for each.
    let looks_at_none = |_| {
        let before = personal.last_look();
        let _ = contents(&personal, "sailor", &all(1));
        personal.last_look() == before
    };
    assert!((0..10).any(looks_at_none));
    place.write("entities/people/new.md", "# N\n\nA lighthouse keeper.\n");
    assert!(contents(&personal, "lighthouse", &all(1))[0].contains("lighthouse"));
    personal.log("x", "note", EntryMetadata::default()).unwrap();
    assert_eq!(contents(&personal, "note", &all(1)), ["[x] note"]);
    assert!((0..10).any(looks_at_none));
}
