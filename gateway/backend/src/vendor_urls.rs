pub(crate) const ANTHROPIC_URL: &str = "https://api.anthropic.com";

pub(crate) const OPENAI_URL: &str = "https://api.openai.com";
