//! What a team knows, and recall over it.
