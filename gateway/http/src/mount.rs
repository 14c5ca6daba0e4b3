use axum::routing::MethodRouter;
use muninn_backend::access::Door;

/// The endpoint of another module: its path, its row in the table of doors, and the service behind it.
pub type Mount = (&'static str, Door, MethodRouter);
