//! What a person tells the session memory, and has it do.

mod flush;
mod forget;
mod recall;
mod remember;

use muninn_memory::Store;
use muninn_memory::ids::IdError;
use muninn_memory::learn::Place;
use muninn_memory::records::{Body, Flushed, Record};
use muninn_memory::store::Destination;
use muninn_repo_tools::RelPath;

use super::output::plural;
use super::{CliError, Common, Exit};
use crate::causes::with_causes;
use crate::config::paths;
use crate::server::Repository;

pub(super) use flush::Flush;
pub(super) use forget::Forget;
pub(super) use recall::Recall;
pub(super) use remember::Remember;

/// By which what people tell it is one session.
const BY_HAND: &str = "by hand";

/// A worktree's memory, and where it is written.
struct Memory {
    store: Store,
    destination: Destination,
}

impl Memory {
    fn of(common: &Common) -> Result<Memory, CliError> {
        let config = common.configuration(None)?;
        let repository = Repository::open(&common.directory()?, &config, &paths::state_dir()?);
        let Some(store) = repository.memory.clone() else {
            let problem = repository.problem.unwrap_or_default();
            return Err(CliError::new(Exit::NotFound, problem));
        };
        let Some(destination) = repository.settings().memory.write.destination() else {
            return Err(
                CliError::new(Exit::Config, "memory.write is off: nothing is written down")
                    .hint("set it to `local` or `repo` in muninn.toml"),
            );
        };
        repository.move_old_sessions();
        Ok(Memory { store, destination })
    }

    /// The id of the record that a part of it names.
    fn record_id(&self, part: &str) -> Result<String, CliError> {
        self.store.record_id(part).map_err(|error| match error {
            IdError::Unknown(part) => CliError::new(Exit::NotFound, format!("there is no record {part}")),
            error => CliError::new(Exit::NotFound, error.to_string()),
        })
    }

    /// Keeps something that a person told.
    fn tell(&self, body: Body, files: &[RelPath], task: Option<String>) -> Result<Record, CliError> {
        let mut told = None;
        let learn = |session: &str| {
            let place = Place {
                worktree: self.store.worktree(),
                session: session.to_owned(),
                task,
                with_text: true,
            };
            vec![told.insert(place.record(body, files)).clone()]
        };
        let kept = self.store.keep(BY_HAND, None, learn);
        kept.map_err(|error| CliError::new(Exit::Failure, with_causes(&error)))?;
        told.ok_or_else(|| CliError::new(Exit::Failure, "nothing was kept"))
    }

    /// Writes what waits, and says what that came to.
    fn flush(&self) -> Result<Flushed, CliError> {
        self.store
            .flush(self.destination)
            .map_err(|error| CliError::new(Exit::Failure, with_causes(&error)))
    }
}
