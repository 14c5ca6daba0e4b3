//! Turns waiting records into segments.

use std::path::Path;
use std::{fs, io};

use muninn_base::private_file;

use super::index::Session;
use super::waiting::{self, Kind, PendingFile, aside_dir};
use super::{Flushed, Locked, PendingRecords, SpoolError, at};
use crate::records::lines;
use crate::records::record::Record;
use crate::records::segment::{SegmentWrite, Segments};

impl Locked<'_> {
    /// Writes the files of one client as segments.
    pub(super) fn flush(
        &self,
        files: &[PendingFile],
        segments: &Segments,
        is_due: &impl Fn(&PendingRecords) -> bool,
        flushed: &mut Flushed,
    ) -> Result<(), SpoolError> {
        let Some(client) = files.first().map(|file| &file.client) else {
            return Ok(());
        };
        let index = self.index()?;
        let mut session = index.session(client)?.unwrap_or_else(|| Session::new(self.clock));
        for file in files {
            let Some(waiting) = look_at(&session.id, file)? else {
                continue;
            };
            if !is_due(&waiting) {
                flushed.waiting.push(waiting);
                continue;
            }
            // If a disk failure lost the session, it gets a new id. ULIDs are unique.
            index.add_session(client, &session)?;
            self.flush_file(file, waiting, segments, &mut session, flushed)?;
        }
        // Many file systems never shrink a folder, and every question reads this folder, so it is removed. Removing it
        // fails if files wait in it.
        fs::remove_dir(waiting::dir(self.dir)).ok();
        Ok(())
    }

    fn flush_file(
        &self,
        file: &PendingFile,
        waiting: PendingRecords,
        segments: &Segments,
        session: &mut Session,
        flushed: &mut Flushed,
    ) -> Result<(), SpoolError> {
        let flushing = file.flushing(self.dir).path;
        if file.kind == Kind::Live {
            if flushing.exists() {
                // The file was not due and must not be overwritten.
                flushed.waiting.push(waiting);
                return Ok(());
            }
            fs::rename(&file.path, &flushing).map_err(at(&flushing))?;
        }
        let Read { records, aside } = read(&flushing)?;
        if !records.is_empty() {
            let text: String = records.iter().flat_map(|record| [record.line(), "\n".to_owned()]).collect();
            while let SegmentWrite::NameTaken = segments.write(&session.id, session.next, &text)? {
                session.next += 1;
            }
            flushed.segments.push(Segments::name(&session.id, session.next));
            flushed.records += records.len();
            session.next += 1;
            self.index()?.set_next(session)?;
        }
        if aside == 0 {
            return fs::remove_file(&flushing).map_err(at(&flushing));
        }
        let dir = aside_dir(self.dir);
        let kept = dir.join(format!("{}-{}-{}", file.client, self.clock.id(), file.branch));
        private_file::dir(&dir).and_then(|()| fs::rename(&flushing, &kept)).map_err(at(&kept))
    }
}

/// The content of a spool file.
struct Read {
    records: Vec<Record>,
    /// Number of lines that are not records.
    aside: usize,
}

fn read(path: &Path) -> Result<Read, SpoolError> {
    let file = private_file::open(path).map_err(at(path))?;
    let (mut records, mut aside) = (Vec::new(), 0);
    lines::read(io::BufReader::new(file), |_, record| records.push(record), |_| aside += 1).map_err(at(path))?;
    Ok(Read { records, aside })
}

/// Summarizes a file; `None` for an empty file, and for one that another process has flushed meanwhile.
pub(super) fn look_at(session: &str, file: &PendingFile) -> Result<Option<PendingRecords>, SpoolError> {
    let Read { records, aside } = match read(&file.path) {
        Err(SpoolError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    if records.is_empty() && aside == 0 {
        return Ok(None);
    }
    let mut commits: Vec<String> = records.iter().filter_map(|record| record.origin.commit.clone()).collect();
    commits.sort();
    commits.dedup();
    Ok(Some(PendingRecords {
        session: session.to_owned(),
        branch: records.iter().find_map(|record| record.origin.branch.clone()),
        commits,
        records: records.len(),
        file: file.path.clone(),
    }))
}
