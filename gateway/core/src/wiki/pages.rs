use muninn_notebooks::wiki::{PageSearch, WikiFolder};

use super::kept_digest::KeptDigest;

/// An open wiki. Each call begins with a look at the files.
pub struct Wiki {
    pub(crate) folder: WikiFolder,
    pub(crate) search: PageSearch,
    pub(crate) digest: KeptDigest,
}
