//! Maps blobs to the files of a snapshot. Vectors are stored by blob, while a ranking needs chunks.

use std::collections::HashMap;

use muninn_repo_tools::BlobId;
use muninn_text::lexical::DocId;

use crate::{Digest, Snapshot};

/// The files of one snapshot, by their blobs.
#[derive(Default)]
pub struct ByBlob {
    files: HashMap<(BlobId, &'static str), Vec<u32>>,
}

impl ByBlob {
    /// Builds the map, with one pass over all files.
    pub fn new(snapshot: &Snapshot) -> Self {
        let mut files: HashMap<_, Vec<u32>> = HashMap::with_capacity(snapshot.len());
        for (number, file) in snapshot.files() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let key = (file.facts.blob, Digest::form(&file.facts.path));
            files.entry(key).or_default().push(number);
        }
        Self { files }
    }

    /// Returns the chunks of the same snapshot that are this chunk of a blob: one for each file with that blob.
    pub fn docs(
        &self,
        snapshot: &Snapshot,
        blob: &BlobId,
        form: &'static str,
        chunk: u32,
    ) -> impl Iterator<Item = DocId> {
        let files = self.files.get(&(*blob, form)).map_or(&[] as &[u32], Vec::as_slice);
        files.iter().filter_map(move |file| {
            let chunks = snapshot.spans_of(*file as usize);
            (chunk < chunks.end - chunks.start).then(|| DocId(chunks.start + chunk))
        })
    }
}
