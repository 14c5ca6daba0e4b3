//! Entities: Markdown files about people, projects and whatever else has a folder.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::directory::Personal;
use super::error::PersonalError;
use super::files::check_folder;
use super::paths::ENTITIES;
use super::search::ItemType;

pub(super) struct EntityFile {
    pub(super) kind: ItemType,
    /// The path below the directory of the memory.
    pub(super) name: String,
    pub(super) metadata: fs::Metadata,
}

impl Personal {
    /// The files of entities: those ending in `.md` in the folders of `entities`. Links are left out.
    pub(super) fn entity_files(&self) -> Result<Vec<EntityFile>, PersonalError> {
        let mut files = Vec::new();
        for folder in entries(&self.path(ENTITIES))? {
            let Ok(name) = folder.file_name().into_string() else {
                continue;
            };
            if name.starts_with('.') || !folder.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let kind = ItemType::of_folder(&name);
            for entry in entries(&folder.path())? {
                let Ok(file) = entry.file_name().into_string() else {
                    continue;
                };
                // The metadata of the entry itself: a link is no file.
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file);
                if let Some(metadata) = metadata.filter(|_| file.ends_with(".md") && !file.starts_with('.')) {
                    files.push(EntityFile { kind: kind.clone(), name: format!("{ENTITIES}/{name}/{file}"), metadata });
                }
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }
}

/// The entries of a folder, which need not exist.
fn entries(path: &PathBuf) -> Result<Vec<fs::DirEntry>, PersonalError> {
    match check_folder(path).and_then(|()| fs::read_dir(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => Ok(entries.map_err(PersonalError::io(path))?.flatten().collect()),
    }
}
