//! From a node to the name that it comes down to.

use tree_sitter::Node;

use super::table::{Table, flag};

/// Declarators and paths nest; deeper than this is not written by people.
const MAX_STEPS: usize = 32;

/// The name that an expression, a declarator or a path comes down to.
#[derive(Clone, Copy)]
pub(super) struct Resolved<'t> {
    /// The leaf.
    pub(super) name: Node<'t>,
    /// The leaf before it.
    pub(super) qualifier: Option<Node<'t>>,
    /// What C declares is a function.
    pub(super) function: bool,
}

impl Table {
    /// Follows `node` down to its name; `None` where it has none, as a call of a closure has none.
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
                return Some(Resolved {
                    name: node,
                    qualifier,
                    function,
                });
            }
            let (name, object) = self.access(entry)?;
            if let Some(object) = object.of(node) {
                qualifier = self.leaf(object);
            }
            node = name.of(node)?;
        }
        None
    }

    /// The name of a qualifier; none for the result of a call.
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
