//! The models that backends listed last.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Backend;
use super::model_list::ListedModel;

/// How long the models of a backend that is down are still listed.
const KEPT: Duration = Duration::from_hours(24);

/// The models that each configured backend listed last.
#[derive(Default)]
pub(crate) struct KnownModels(Mutex<HashMap<Id, Listed>>);

/// A backend's name and address.
type Id = (String, String);

/// Models, and when they were listed.
type Listed = (Instant, Vec<ListedModel>);

impl KnownModels {
    /// The models of a backend: those that it `listed` now, else those that it listed last within a day.
    pub(crate) fn of(&self, backend: &Backend, listed: Option<Vec<ListedModel>>, now: Instant) -> Vec<ListedModel> {
        let mut known = self.0.lock();
        let id = (backend.name.clone(), backend.url.base.clone());
        match listed {
            Some(models) => {
                known.insert(id, (now, models.clone()));
                models
            }
            None => {
                let kept = known.get(&id).filter(|(at, _)| now.saturating_duration_since(*at) < KEPT);
                kept.map(|(_, models)| models.clone()).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Circuits;
    use muninn_config::{BackendConfig, LimitsConfig};
    use muninn_wire::WireFormat;

    #[test]
    fn a_backend_that_is_down_keeps_its_models_for_a_day() {
        let backend = |name: &str| {
            let url = "http://a".to_owned();
            let config = BackendConfig::new(name.to_owned(), url, vec![WireFormat::Chat], &LimitsConfig::default());
            Backend::new(config, &Circuits::local())
        };
        let (known, start) = (KnownModels::default(), Instant::now());
        let listed = || Some(vec![ListedModel::named("m", "a")]);
        assert_eq!(Some(known.of(&backend("a"), listed(), start)), listed());
        assert_eq!(Some(known.of(&backend("a"), None, start + Duration::from_secs(86_399))), listed());
        assert!(known.of(&backend("a"), None, start + Duration::from_hours(24)).is_empty());
        assert!(known.of(&backend("b"), None, start).is_empty(), "another backend");
        assert!(known.of(&backend("a"), Some(Vec::new()), start).is_empty(), "it lists none any more");
        assert!(known.of(&backend("a"), None, start).is_empty());
    }
}
