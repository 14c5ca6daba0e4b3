//! Made pages: words by Zipf's law, links, and one page that many link to.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::zipf::ZipfWords;

const SEED: u64 = 1;
const WORDS_OF_A_PAGE: usize = 800;
const WORDS_OF_A_LINE: usize = 12;
const LINKS_OF_A_PAGE: usize = 9;
/// The age of a made file: a page that was just written is read again by the next process.
const AGE: Duration = Duration::from_mins(10);

/// The page that one in ten pages links to.
pub(super) const HUB: &str = "area0/sub0/page0";

/// Makes pages.
pub(super) struct Made(ZipfWords);

impl Made {
    pub(super) fn new() -> Made {
        Made(ZipfWords::new(SEED))
    }

    /// Writes so many pages. Returns their size in bytes.
    pub(super) fn write(&mut self, root: &Path, count: usize) -> io::Result<u64> {
        let time = SystemTime::now() - AGE;
        let mut bytes = 0;
        for number in 0..count {
            let text = self.page(number, count);
            let path = root.join(format!("{}.md", name(number)));
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            let mut file = File::create(path)?;
            file.write_all(text.as_bytes())?;
            file.set_modified(time)?;
            bytes += text.len() as u64;
        }
        Ok(bytes)
    }

    fn page(&mut self, number: usize, count: usize) -> String {
        let mut words = self.0.words(WORDS_OF_A_PAGE);
        for _ in 0..LINKS_OF_A_PAGE {
            let (at, target) = (self.0.rng.usize(..words.len()), self.0.rng.usize(..count));
            words[at] = format!("[[{}]]", name(target));
        }
        if number.is_multiple_of(10) {
            words[0] = format!("[[{HUB}]]");
        }
        let lines: Vec<String> = words.chunks(WORDS_OF_A_LINE).map(|line| line.join(" ")).collect();
        format!("---\ntitle: Page {number}\n---\n# Page {number}\n{}\n", lines.join("\n"))
    }

    /// Queries of two or three words.
    pub(super) fn queries(&mut self, count: usize) -> Vec<String> {
        self.0.queries(count)
    }
}

fn name(number: usize) -> String {
    format!("area{}/sub{}/page{number}", number % 50, number % 7)
}
