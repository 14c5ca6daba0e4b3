//! Making segments of what waits.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::folder::{Locked, Named};
use super::{Flushed, SpoolError, Waiting, at};
use crate::records::lines;
use crate::records::record::Record;
use crate::records::segment::{Segments, Written};

impl Locked {
    pub(super) fn flush(
        &self,
        segments: &Segments,
        is_due: &impl Fn(&Waiting) -> bool,
        flushed: &mut Flushed,
    ) -> Result<(), SpoolError> {
        let mut named = self.named()?;
        // What was begun comes first: its records are older.
        for file in self.folder.files(&["flushing-", "live-"])? {
            let Some(waiting) = look_at(&named.id, file)? else {
                continue;
            };
            if !is_due(&waiting) {
                flushed.waiting.push(waiting);
                continue;
            }
            self.flush_file(&waiting, segments, &mut named, flushed)?;
        }
        Ok(())
    }

    fn flush_file(
        &self,
        waiting: &Waiting,
        segments: &Segments,
        named: &mut Named,
        flushed: &mut Flushed,
    ) -> Result<(), SpoolError> {
        let name = waiting
            .file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let branch = name.split_once('-').map_or("", |(_, branch)| branch);
        let flushing = self.folder.0.join(format!("flushing-{branch}"));
        if waiting.file != flushing {
            if flushing.exists() {
                // It was not due, and must not be written over.
                flushed.waiting.push(waiting.clone());
                return Ok(());
            }
            fs::rename(&waiting.file, &flushing).map_err(at(&flushing))?;
        }
        let Read { records, aside, .. } = read(&flushing)?;
        if !records.is_empty() {
            let text: String = records
                .iter()
                .flat_map(|record| [record.line(), "\n".to_owned()])
                .collect();
            while let Written::Taken = segments.write(&named.id, named.next, &text)? {
                named.next += 1;
            }
            flushed.segments.push(Segments::name(&named.id, named.next));
            flushed.records += records.len();
            named.next += 1;
            self.name(named)?;
        }
        if aside == 0 {
            return fs::remove_file(&flushing).map_err(at(&flushing));
        }
        let kept = self.folder.0.join(format!("aside-{}-{branch}", named.next));
        fs::rename(&flushing, &kept).map_err(at(&kept))
    }
}

/// What a file of the spool holds.
struct Read {
    records: Vec<Record>,
    /// Lines that are no records.
    aside: usize,
}

fn read(path: &Path) -> Result<Read, SpoolError> {
    let file = File::open(path).map_err(at(path))?;
    let (mut records, mut aside) = (Vec::new(), 0);
    lines::read(
        io::BufReader::new(file),
        |_, record| records.push(record),
        |_| aside += 1,
    )
    .map_err(at(path))?;
    Ok(Read { records, aside })
}

/// What waits in a file; nothing in an empty one.
pub(super) fn look_at(session: &str, file: PathBuf) -> Result<Option<Waiting>, SpoolError> {
    let Read { records, aside } = read(&file)?;
    if records.is_empty() && aside == 0 {
        return Ok(None);
    }
    let mut commits: Vec<String> = records
        .iter()
        .filter_map(|record| record.origin.commit.clone())
        .collect();
    commits.sort();
    commits.dedup();
    Ok(Some(Waiting {
        session: session.to_owned(),
        branch: records.iter().find_map(|record| record.origin.branch.clone()),
        commits,
        records: records.len(),
        file,
    }))
}
