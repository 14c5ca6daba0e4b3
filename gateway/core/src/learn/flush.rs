use muninn_base::Until;

use crate::Workspace;

/// Writes the records of these conversations as segments. Returns whether it finished in time.
pub fn flush(workspace: &Workspace, names: &[&str], until: Option<&Until>) -> bool {
    let Some(store) = &workspace.memory else { return true };
    let Some(destination) = workspace.settings().memory.write.destination() else {
        return true;
    };
    match store.flush_ended(destination, names, until) {
        Ok(flushed) => {
            if flushed.records > 0 {
                tracing::info!(records = flushed.records, segments = flushed.segments.len(), "records were written");
            }
            !flushed.is_cut
        }
        Err(error) => {
            tracing::warn!(%error, "records stay in the spool: they cannot be written");
            true
        }
    }
}
