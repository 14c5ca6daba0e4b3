//! The list of models as clients see it: in the formats of two vendors, and in pages.

use muninn_wire::Dialect;
use serde_json::{Value, json};

/// A model of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    /// The name of the backend that answers for it.
    pub backend: String,
    /// The name that the backend shows to people.
    pub(crate) display_name: Option<String>,
    pub(crate) description: Option<String>,
}

impl ListedModel {
    pub(crate) fn named(id: &str, backend: &str) -> ListedModel {
        ListedModel { id: id.to_owned(), backend: backend.to_owned(), display_name: None, description: None }
    }

    /// The entry in the vendor's format.
    pub fn render(&self, dialect: Dialect) -> Value {
        match dialect {
            Dialect::OpenAi => json!({"id": self.id, "object": "model", "created": 0, "owned_by": self.backend}),
            Dialect::Anthropic => {
                let name = self.display_name.as_ref().unwrap_or(&self.id);
                let mut entry =
                    json!({"type": "model", "id": self.id, "display_name": name, "created_at": "1970-01-01T00:00:00Z"});
                if let Some(description) = &self.description {
                    entry["description"] = description.as_str().into();
                }
                entry
            }
        }
    }
}

/// A part of the list that a client of Anthropic asks for: at most `limit` models after or before one of them.
#[derive(Debug, Default, Clone)]
pub struct ModelPage {
    pub limit: Option<usize>,
    pub after_id: Option<String>,
    pub before_id: Option<String>,
}

/// Renders a list in the vendor's format. Only that of Anthropic has pages; without `limit`, a page has all models.
pub fn render_models(models: &[ListedModel], dialect: Dialect, page: &ModelPage) -> Value {
    let (models, has_more) = match dialect {
        Dialect::OpenAi => (models, false),
        Dialect::Anthropic => page.of(models),
    };
    let data: Vec<Value> = models.iter().map(|model| model.render(dialect)).collect();
    match dialect {
        Dialect::OpenAi => json!({"object": "list", "data": data}),
        Dialect::Anthropic => {
            let id = |entry: Option<&ListedModel>| entry.map(|model| model.id.clone());
            json!({"data": data, "has_more": has_more, "first_id": id(models.first()), "last_id": id(models.last())})
        }
    }
}

impl ModelPage {
    /// The models of the page, and whether there are more in its direction. An unknown id has none.
    fn of<'m>(&self, models: &'m [ListedModel]) -> (&'m [ListedModel], bool) {
        let limit = self.limit.unwrap_or(models.len());
        let place = |id: &str| models.iter().position(|model| model.id == id);
        if let Some(before) = &self.before_id {
            let rest = &models[..place(before).unwrap_or(0)];
            let first = rest.len().saturating_sub(limit);
            return (&rest[first..], first > 0);
        }
        let start = self.after_id.as_ref().map_or(0, |after| place(after).map_or(models.len(), |at| at + 1));
        let rest = &models[start..];
        (&rest[..limit.min(rest.len())], rest.len() > limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_on_after_and_before_a_model() {
        let models = ["a", "b", "c", "d"].map(|id| ListedModel::named(id, "x"));
        let page = |limit, after_id: Option<&str>, before_id: Option<&str>| {
            let page =
                ModelPage { limit, after_id: after_id.map(str::to_owned), before_id: before_id.map(str::to_owned) };
            let list = render_models(&models, Dialect::Anthropic, &page);
            let ids: Vec<_> =
                list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
            assert_eq!(
                (list["first_id"].as_str(), list["last_id"].as_str()),
                (ids.first().copied(), ids.last().copied())
            );
            (ids.concat(), list["has_more"] == true)
        };
        let cases = [
            (page(None, None, None), ("abcd", false)),
            (page(Some(1), None, None), ("a", true)),
            (page(Some(2), Some("b"), None), ("cd", false)),
            (page(Some(1), Some("b"), None), ("c", true)),
            (page(None, Some("d"), None), ("", false)),
            (page(None, Some("x"), None), ("", false)),
            (page(Some(2), None, Some("d")), ("bc", true)),
            (page(Some(3), None, Some("d")), ("abc", false)),
            (page(Some(3), None, Some("a")), ("", false)),
            (page(None, None, Some("x")), ("", false)),
            (page(Some(9), None, None), ("abcd", false)),
        ];
        for (index, ((ids, has_more), expected)) in cases.into_iter().enumerate() {
            assert_eq!((&*ids, has_more), expected, "{index}");
        }
        let all = render_models(&models, Dialect::OpenAi, &ModelPage { limit: Some(1), ..ModelPage::default() });
        assert_eq!(all["data"].as_array().unwrap().len(), 4, "the format of OpenAI has no pages");
    }
}
