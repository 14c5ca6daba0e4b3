/// A backend and model for requests that Muninn makes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// Index into [`super::Config::backends`].
    pub backend: usize,
    /// The backend's name for the model.
    pub model: String,
}
