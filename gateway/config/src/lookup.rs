use std::path::Path;

use super::chosen_model::ChosenModel;
use super::{Config, ConfigError};

impl Config {
    /// Returns the name of a chosen model for receipts, records and logs, such as `local/small`.
    pub fn name_of(&self, chosen: &ChosenModel) -> String {
        let backend = self.backends.get(chosen.backend);
        format!("{}/{}", backend.map_or("", |backend| &backend.name), chosen.model)
    }
}

impl Config {
    /// Returns a key for an error, with its file.
    pub fn setting(&self, key: &str) -> String {
        match &self.file {
            Some(file) => format!("{}: {key}", file.display()),
            None => key.to_owned(),
        }
    }

    /// Checks that the `roots` of every key can be served: each is in the served root, in a directory of the configured
    /// `roots`, in the wiki's folder, or above the served root. `served` is the canonical served root, which is known only to a command.
    pub fn check_key_roots(&self, served: &Path) -> Result<(), ConfigError> {
        for (index, key) in self.keys.iter().enumerate() {
            for root in key.roots.iter().flatten() {
                let wiki = Some(&self.wiki.path).filter(|path| path.is_absolute());
                let mut others = self.roots.iter().chain(wiki);
                let servable = root.starts_with(served) || others.any(|allowed| root.starts_with(allowed));
                // A directory above the served root is allowed. It permits nothing that is not served.
                if !servable && !served.starts_with(root) {
                    let message = format!(
                        "{} is not in the served directory {} and in no directory of `roots`",
                        root.display(),
                        served.display()
                    );
                    let setting = self.setting(&format!("keys[{index}].roots"));
                    return Err(ConfigError::Value { setting, message });
                }
            }
        }
        Ok(())
    }
}
