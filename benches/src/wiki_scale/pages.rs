//! Made pages: words by Zipf's law, links, and one page that many link to.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use fastrand::Rng;

const SEED: u64 = 1;
const WORDS: usize = 20_000;
const WORDS_OF_A_PAGE: usize = 800;
const WORDS_OF_A_LINE: usize = 12;
const LINKS_OF_A_PAGE: usize = 9;
/// The age of a made file: a page that was just written is read again by the next process.
const AGE: Duration = Duration::from_mins(10);

/// The page that one in ten pages links to.
pub(super) const HUB: &str = "area0/sub0/page0";

pub(super) struct Made {
    words: Vec<String>,
    /// The sums of the words' weights.
    sums: Vec<f64>,
    rng: Rng,
}

impl Made {
    pub(super) fn new() -> Made {
        let mut rng = Rng::with_seed(SEED);
        let word = |_| -> String { (0..rng.usize(3..=10)).map(|_| rng.lowercase()).collect() };
        let words = (0..WORDS).map(word).collect();
        let mut sum = 0.0;
        let sums = (0..WORDS).map(|rank| {
            sum += 1.0 / f64::from(u32::try_from(rank + 1).unwrap_or(u32::MAX));
            sum
        });
        Made {
            words,
            sums: sums.collect(),
            rng,
        }
    }

    fn word(&mut self) -> &str {
        let most = self.sums.last().copied().unwrap_or_default();
        let at = self.rng.f64() * most;
        let rank = self.sums.partition_point(|sum| *sum < at);
        self.words.get(rank).map_or("word", String::as_str)
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
        let mut words: Vec<String> = (0..WORDS_OF_A_PAGE).map(|_| self.word().to_owned()).collect();
        for _ in 0..LINKS_OF_A_PAGE {
            let (at, target) = (self.rng.usize(..words.len()), self.rng.usize(..count));
            words[at] = format!("[[{}]]", name(target));
        }
        if number.is_multiple_of(10) {
            words[0] = format!("[[{HUB}]]");
        }
        let lines: Vec<String> = words.chunks(WORDS_OF_A_LINE).map(|line| line.join(" ")).collect();
        format!(
            "---\ntitle: Page {number}\n---\n# Page {number}\n{}\n",
            lines.join("\n")
        )
    }

    /// Queries of two or three words.
    pub(super) fn queries(&mut self, count: usize) -> Vec<String> {
        let query = |_| {
            let words = self.rng.usize(2..=3);
            let words: Vec<String> = (0..words).map(|_| self.word().to_owned()).collect();
            words.join(" ")
        };
        (0..count).map(query).collect()
    }
}

fn name(number: usize) -> String {
    format!("area{}/sub{}/page{number}", number % 50, number % 7)
}
