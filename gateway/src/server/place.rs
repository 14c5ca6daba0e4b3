//! Which worktree a request is about, and what sets its conversation apart from those of other worktrees.

use std::path::Path;
use std::sync::Arc;

use super::{Place, Repository, Shared};
use crate::access::Caller;
use crate::session::Workplace;

/// The worktree of a request.
pub(super) fn locate(shared: &Shared, caller: &Caller, workplace: &Workplace) -> Place {
    let may_use = |root: &Path| caller.may_use_root(root);
    shared.repositories.locate(&workplace.now, &may_use)
}

/// What seeds the conversation's chain: the worktree that it opened in, and never where it has moved since. A place that
/// is not served stands for itself.
pub(super) fn seed(shared: &Shared, workplace: &Workplace) -> String {
    let served = || shared.repository.root.to_string_lossy().into_owned();
    let root_of = |claim: &String| {
        let root = shared.repositories.root_of(claim)?;
        Some(root.to_string_lossy().into_owned())
    };
    match (&workplace.at_first, &workplace.in_opening) {
        (Some(first), _) => root_of(first).unwrap_or_else(|| first.clone()),
        // Behind the person's first words, so a place that is not served must not count: clients may say it later, or
        // otherwise, and have said the words before.
        (None, Some(opening)) => root_of(opening).unwrap_or_else(served),
        (None, None) => served(),
    }
}

/// The worktree's repository, opened if need be on a thread of its own. A request waits for that no longer than it would
/// for an answer of the repository; the opening goes on, for the next one.
///
/// # Errors
/// In words, why there is none for this request.
pub(super) async fn enter(
    shared: &Arc<Shared>,
    caller: &Caller,
    place: Place,
    claimed: &[String],
) -> Result<Arc<Repository>, String> {
    let root = match place {
        Place::Open(repository) => {
            return match &repository.problem {
                Some(problem) => Err(problem.clone()),
                None => Ok(repository),
            };
        }
        Place::Unopened(root) => root,
        Place::Forbidden(root) => return Err(not_for_this_key(caller, &root)),
        Place::Outside => return Err(outside(shared, claimed)),
    };
    let opening = tokio::task::spawn_blocking({
        let (shared, root) = (Arc::clone(shared), root.clone());
        move || shared.repositories.open(&root)
    });
    match tokio::time::timeout(shared.repositories.patience(), opening).await {
        Ok(Ok(opened)) => opened,
        Ok(Err(error)) => Err(format!("{} could not be opened: {error}", root.display())),
        Err(_) => Err(format!("{} is still being opened", root.display())),
    }
}

/// Why a caller is shown nothing of a repository.
fn not_for_this_key(caller: &Caller, root: &Path) -> String {
    format!("the access key `{}` is not for {}", caller.name(), root.display())
}

fn outside(shared: &Shared, claimed: &[String]) -> String {
    let place = claimed.first().map(String::as_str).unwrap_or_default();
    let root = shared.repository.root.display();
    format!(
        "the request works in {place}, outside the served {root}; to serve it too, add `roots = [{place:?}]` or a \
         directory above it to muninn.toml, or start `muninn serve --root {place}`"
    )
}
