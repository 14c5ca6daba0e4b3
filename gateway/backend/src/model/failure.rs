use muninn_text::model::ModelError;

pub(crate) fn unreachable(model: &str, reason: impl ToString) -> ModelError {
    ModelError::Unreachable { model: model.to_owned(), reason: reason.to_string() }
}

pub(crate) fn unusable(model: &str, reason: impl ToString) -> ModelError {
    ModelError::Unusable { model: model.to_owned(), reason: reason.to_string() }
}
