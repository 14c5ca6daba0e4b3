/// A hook that tests use to interrupt a run after each step.
pub type StepHook<'a> = &'a mut dyn FnMut(&'static str);
