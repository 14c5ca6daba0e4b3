//! What belongs in this prompt, and why.
