//! Every example in `configs/` loads.

use std::path::Path;

use muninn_tests::TestEnv;

use crate::MUNINN;

/// The environment variables that a configuration reads keys from.
fn key_variables(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("key_env = \"")?.strip_suffix('"')).collect()
}

#[test]
fn every_example_configuration_loads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names = Vec::new();
    for file in files {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let env = TestEnv::new(MUNINN);
        let mut command = env.muninn();
        command.args(["config", "check", "--config"]).arg(&path);
        for variable in key_variables(&text) {
            command.env(variable, "dummy-key");
        }
        let output = muninn_tests::output(command);
        assert!(output.status.success(), "{}: {output:?}", path.display());
        assert!(text.trim_start().starts_with('#'), "{} says what it is for", path.display());
        names.push(path.file_stem().unwrap().to_string_lossy().into_owned());
    }
    for name in [
        "anthropic", "explore", "litellm", "llamacpp", "ollama", "openai-compatible", "reconciler", "shared",
        "summarizer", "vllm",
    ] {
        assert!(names.iter().any(|known| known == name), "configs/{name}.toml is missing");
    }
}
