//! Records made of a tree, which `reconcile-scale` and `past-sessions` read.

pub mod corpus;
