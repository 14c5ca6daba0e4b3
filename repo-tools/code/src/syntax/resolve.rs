//! Resolving an expression, a declarator or a path to its name.

use tree_sitter::Node;

use super::table::{Table, flag};

/// Maximum nesting of declarators and paths that is followed.
const MAX_STEPS: usize = 32;

/// The name of an expression, a declarator or a path.
#[derive(Clone, Copy)]
pub(super) struct Resolved<'t> {
    /// The leaf with the name.
    pub(super) name: Node<'t>,
    /// The leaf with the qualifier before the name.
    pub(super) qualifier: Option<Node<'t>>,
    /// Whether a C declarator declares a function.
    pub(super) function: bool,
}

impl Table {
    /// Follows `node` down to its name; `None` if it has no name, for instance the call of a closure.
    pub(super) fn resolve<'t>(&self, node: Node<'t>) -> Option<Resolved<'t>> {
        let (mut node, mut qualifier, mut function) = (node, None, false);
        for _ in 0..MAX_STEPS {
            let entry = self.entry(node);
            if entry.flags & flag::FUNCTION_DECLARATOR != 0 {
                function = true;
            } else if entry.flags & flag::PARENTHESES != 0 {
                function = false;
            }
            if entry.flags & flag::NAME != 0 {
                return Some(Resolved { name: node, qualifier, function });
            }
            let (name, object) = self.access(entry)?;
            if let Some(object) = object.of(node) {
                qualifier = self.leaf(object);
            }
            node = name.of(node)?;
        }
        None
    }

    /// Returns the name of a qualifier; `None` for the result of a call.
    fn leaf<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        let mut node = node;
        for _ in 0..MAX_STEPS {
            let entry = self.entry(node);
            if entry.flags & flag::NAME != 0 {
                return Some(node);
            }
            if entry.call != 0 {
                return None;
            }
            node = self.access(entry)?.0.of(node)?;
        }
        None
    }
}
