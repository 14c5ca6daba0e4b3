//! The type of each memory, as an array of numbers.
//!
//! A question can exclude the type of most memories. Reading each memory to find its type would take longer than the
//! rest of the question.

use std::collections::HashMap;

use muninn_team::memories::Memory;

use super::options::RecallOptions;

/// The types of memories, by memory number.
#[derive(Default)]
pub(super) struct Types {
    names: Vec<Option<String>>,
    /// Index into `names` of each memory.
    of: Vec<u32>,
}

impl Types {
    pub(super) fn new(items: &[Memory]) -> Self {
        let mut numbers: HashMap<Option<&str>, u32> = HashMap::new();
        let mut types = Self::default();
        for item in items {
            let name = item.record_type.as_deref();
            let number = *numbers.entry(name).or_insert_with(|| {
                types.names.push(name.map(str::to_owned));
                u32::try_from(types.names.len() - 1).unwrap_or(u32::MAX)
            });
            types.of.push(number);
        }
        types
    }

    /// Returns a predicate: whether a memory's type is allowed.
    pub(super) fn allowed_by(&self, options: &RecallOptions<'_>) -> impl Fn(u32) -> bool {
        let names = self.names.iter();
        let allowed: Vec<bool> = names.map(|name| options.allow_type(name.as_deref())).collect();
        let all = !allowed.contains(&false);
        move |doc| {
            let number = self.of.get(doc as usize);
            all || number.is_some_and(|number| allowed.get(*number as usize).copied().unwrap_or(false))
        }
    }
}
