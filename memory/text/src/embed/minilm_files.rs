/// The files that `minilm` needs in its directory.
pub const MINILM_FILES: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];

/// The beginning of the id of `minilm`.
pub const MINILM_ID: &str = "minilm-";
