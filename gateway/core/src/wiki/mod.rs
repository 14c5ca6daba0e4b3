//! The wiki: the pages of a repository's knowledge, or of any other folder, and the digest of them.

mod digest;
mod kept_digest;
mod pages;
mod place;
mod search;
mod team;
mod team_wiki;
mod views;

pub use pages::Wiki;
pub use place::{wiki_folder, wiki_inside};
pub(super) use team_wiki::TeamWiki;
pub use views::{ListedPage, PageView, WikiContext};
