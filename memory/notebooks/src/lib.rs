//! What people and agents write down: the [`wiki`] of a team, the [`journal`] of a repository, the [`worklog`] of a
//! worktree, and the [`personal`] memory of one person.

pub mod journal;
pub mod personal;
pub mod wiki;
pub mod worklog;
