//! The ground: paths, files that are opened safely, private files and databases, time, deadlines and threads. This is the
//! lowest crate of the workspace, and knows nothing of git.

pub mod added_lines;
mod causes;
pub mod clock;
pub mod database;
pub mod ids;
pub mod image;
pub mod ordered;
pub mod page_files;
mod path;
pub mod private_file;
mod progress;
mod regular_file;
pub mod stamp;
mod supervisor;
mod until;
mod utf16;

pub use added_lines::add_missing_lines;
pub use causes::with_causes;
pub use clock::Clock;
pub use ordered::in_order;
pub use page_files::FileError;
pub use path::{PathError, RelPath};
pub use progress::Progress;
pub use regular_file::{
    Links, RegularFileError, beginning, open_regular, read_at_most, read_regular, read_regular_text,
};
pub use supervisor::{Supervisor, Task, TaskReport, TaskState};
pub use until::{CancelFlag, Until};
pub use utf16::utf16;
