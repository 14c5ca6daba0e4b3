//! The pages as their files are now, kept in memory for the next call and in an image for the next process.
//!
//! A look at the files of a large wiki takes tens of milliseconds, so a large wiki is watched in a process that stays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_base::Supervisor;
use muninn_base::image::{DerivedImage, ImageFormat};
use muninn_watch::WatchedFolder;
use parking_lot::{Mutex, MutexGuard};

use super::links::LinkStyle;
use super::pages::{Page, Pages};

const IMAGE: ImageFormat = ImageFormat { prefix: "pages-", magic: b"muninn pages 2\n" };
/// The pages from which a wiki is watched. Fewer are looked at in two milliseconds.
const MANY: usize = 500;
/// The files after whose reading the image is written. Fewer are read in a few milliseconds.
const READ_FOR_IMAGE: usize = 100;

/// The pages of a folder.
pub(super) struct CurrentPages {
    root: PathBuf,
    style: LinkStyle,
    kept: Mutex<Kept>,
}

struct Kept {
    /// `None` before the first look at the files.
    pages: Option<Arc<Pages>>,
    watched: WatchedFolder,
    image: DerivedImage,
}

impl CurrentPages {
    pub(super) fn new(root: &Path, style: LinkStyle, state: &Path, supervisor: Option<&Supervisor>) -> CurrentPages {
        let watched = WatchedFolder::new(root, state, supervisor);
        let kept = Kept { pages: None, watched, image: DerivedImage::new(&IMAGE, state, root) };
        CurrentPages { root: root.to_owned(), style, kept: Mutex::new(kept) }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn style(&self) -> LinkStyle {
        self.style
    }

    /// The pages, after a look at the files, or without if none has changed.
    pub(super) fn get(&self) -> Arc<Pages> {
        let mut kept = self.lock();
        let is_current = kept.watched.saw_no_change();
        match &kept.pages {
            Some(pages) if is_current => Arc::clone(pages),
            _ => self.look(&mut kept),
        }
    }

    /// The pages, after a look at the files.
    pub(super) fn read(&self) -> Arc<Pages> {
        self.look(&mut self.lock())
    }

    fn look(&self, kept: &mut Kept) -> Arc<Pages> {
        let before = kept.pages.take().unwrap_or_else(|| Arc::new(Pages::restored(kept.image.read())));
        let pages = Pages::read(&self.root, self.style, &before);
        kept.pages = Some(Arc::clone(&pages));
        if !Arc::ptr_eq(&pages, &before) {
            kept.image.unsaved += pages.files_read();
        }
        if kept.image.unsaved >= READ_FOR_IMAGE {
            kept.image.write(&pages.certain().collect::<Vec<&Page>>());
        }
        if pages.len() >= MANY {
            kept.watched.watch();
        }
        pages
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    struct Wiki {
        dir: tempfile::TempDir,
        supervisor: Supervisor,
    }

    impl Wiki {
        /// A wiki whose pages were written some minutes ago.
        fn of(count: usize) -> Wiki {
            let wiki = Wiki { dir: tempfile::tempdir().unwrap(), supervisor: Supervisor::default() };
            for number in 0..count {
                wiki.write(&format!("a{}/page{number}.md", number % 7), "# Title\n");
                wiki.date(&format!("a{}/page{number}.md", number % 7), minutes_ago(3));
            }
            wiki
        }

        fn root(&self) -> PathBuf {
            self.dir.path().join("wiki")
        }

        fn write(&self, file: &str, text: &str) {
            let file = self.root().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        fn date(&self, file: &str, time: SystemTime) {
            let file = fs::File::options().append(true).open(self.root().join(file)).unwrap();
            file.set_modified(time).unwrap();
        }

        fn open(&self, supervisor: Option<&Supervisor>) -> CurrentPages {
            CurrentPages::new(&self.root(), LinkStyle::Auto, &self.dir.path().join("state"), supervisor)
        }
    }

    fn minutes_ago(minutes: u64) -> SystemTime {
        SystemTime::from(muninn_base::Clock::system().now()) - Duration::from_mins(minutes)
    }

    fn titles(pages: &Pages, title: &str) -> usize {
        pages.iter().filter(|page| page.title == title).count()
    }

    #[test]
    fn next_process_reads_only_changed_files() {
        let wiki = Wiki::of(READ_FOR_IMAGE);
        assert_eq!(wiki.open(None).get().files_read(), READ_FOR_IMAGE);
        wiki.write("a0/page0.md", "# Another title\n");
        fs::remove_file(wiki.root().join("a1/page1.md")).unwrap();
        let pages = wiki.open(None).get();
        assert_eq!((pages.files_read(), pages.len()), (1, READ_FOR_IMAGE - 1));
        assert_eq!((titles(&pages, "Another title"), titles(&pages, "Title")), (1, READ_FOR_IMAGE - 2));
        // The image is damaged.
        let images = fs::read_dir(wiki.dir.path().join("state")).unwrap();
        images.for_each(|image| fs::write(image.unwrap().path(), "muninn pages 2\nnot").unwrap());
        assert_eq!(wiki.open(None).get().files_read(), READ_FOR_IMAGE - 1);
    }

    #[test]
    fn change_that_keeps_size_and_time_of_a_new_file_is_seen() {
        let wiki = Wiki::of(1);
        let pages = wiki.open(None);
        let just_now = minutes_ago(0);
        wiki.write("new.md", "# One\n");
        wiki.date("new.md", just_now);
        assert_eq!(titles(&pages.get(), "One"), 1);
        wiki.write("new.md", "# Two\n");
        wiki.date("new.md", just_now);
        assert_eq!(titles(&pages.get(), "Two"), 1);
    }

    #[test]
    fn pages_of_unchanged_files_are_the_same() {
        let wiki = Wiki::of(3);
        let pages = wiki.open(None);
        let first = pages.get();
        assert!(Arc::ptr_eq(&first, &pages.get()));
        wiki.write("x.md", "[[page1]]");
        let second = pages.get();
        assert!(second.version() != first.version() && second.len() == 4);
        fs::remove_file(wiki.root().join("x.md")).unwrap();
        assert_eq!(pages.get().version(), first.version());
    }

    #[test]
    fn watched_wiki_shows_every_change_at_once() {
        let wiki = Wiki::of(MANY);
        let pages = wiki.open(Some(&wiki.supervisor));
        assert_eq!(pages.get().len(), MANY);
        assert!(pages.lock().watched.wait_ready(Duration::from_mins(1)));
        let steps: [(&str, &dyn Fn(), usize, usize); 5] = [
            ("create", &|| wiki.write("new/deep/x.md", "# New\n"), MANY + 1, 1),
            ("edit", &|| wiki.write("new/deep/x.md", "# Old\n"), MANY + 1, 0),
            ("rename", &|| fs::rename(wiki.root().join("new"), wiki.root().join("renamed")).unwrap(), MANY + 1, 0),
            ("edit below a renamed folder", &|| wiki.write("renamed/deep/x.md", "# New\n"), MANY + 1, 1),
            ("delete", &|| fs::remove_dir_all(wiki.root().join("renamed")).unwrap(), MANY, 0),
        ];
        for (step, change, count, new) in steps {
            change();
            let found = pages.get();
            assert_eq!((found.len(), titles(&found, "New")), (count, new), "{step}");
            let again = pages.get();
            assert_eq!(again.version(), found.version(), "{step}");
        }
        wiki.supervisor.stopping().cancel();
    }
}
