//! Keys of model vendors and of services around models.

use super::{Shape, inner, is_uniform, mixed, shape};

const OWN_PREFIXES: &[&str] = &[
    "muninn-", "muninn_", "muninn\u{2010}", "muninn\u{2011}", "muninn\u{2012}", "muninn\u{2013}", "muninn\u{2212}",
    "muninn\u{ff0d}",
];

pub(super) const SHAPES: &[Shape] = &[
    // Access keys of Muninn: 256 bits in hexadecimal digits.
    // Editors and chats write other hyphens.
    shape("muninn-key", OWN_PREFIXES, r"[0-9a-fA-F]{64}").in_any_case().anywhere(),
    shape("anthropic-key", &["sk-ant-"], r"[\w-]{16,256}"),
    mixed("openrouter-key", &["sk-or-v1-"], r"[\w-]{16,256}"),
    mixed("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], r"[\w-]{16,256}"),
    mixed("openai-key", &["sk-"], r"[A-Za-z0-9]{20,256}\b"),
    mixed("openai-key", &["sess-"], r"[A-Za-z0-9]{40}\b"),
    mixed("langfuse-key", &["sk-lf-"], r"[0-9a-f]{8}-[0-9a-f-]{27}"),
    mixed("groq-key", &["gsk_"], r"[A-Za-z0-9]{40,64}\b"),
    mixed("xai-key", &["xai-"], r"[A-Za-z0-9]{60,100}\b"),
    mixed("perplexity-key", &["pplx-"], r"[A-Za-z0-9]{40,64}\b"),
    mixed("huggingface-token", &["hf_", "api_org_"], r"[A-Za-z0-9]{30,64}\b"),
    mixed("replicate-token", &["r8_"], r"[A-Za-z0-9]{37}\b"),
    mixed("pinecone-key", &["pcsk_"], r"\w{50,128}"),
    mixed("langsmith-key", &["lsv2_"], r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    mixed("nvidia-key", &["nvapi-"], r"[\w-]{50,128}"),
    mixed("cerebras-key", &["csk-"], r"[a-z0-9]{40,64}\b"),
    mixed("fireworks-key", &["fw_"], r"[A-Za-z0-9]{22,24}\b"),
    mixed("together-key", &["tgp_v1_"], r"[\w-]{32,64}"),
    mixed("tavily-key", &["tvly-"], r"[A-Za-z0-9-]{20,64}"),
    mixed("firecrawl-key", &["fc-"], r"[0-9a-f]{32}\b"),
    mixed("jina-key", &["jina_"], r"\w{40,128}"),
    mixed("google-key", &["AQ.Ab"], r"[\w-]{40,64}"),
    // 32 hexadecimal digits and 16 letters or digits, with a full stop between them and without a prefix.
    inner(
        "zhipu-key",
        &["0.", "1.", "2.", "3.", "4.", "5.", "6.", "7.", "8.", "9.", "a.", "b.", "c.", "d.", "e.", "f."],
        31,
        r"[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",
    )
    .refusing(|key| key.split('.').any(is_uniform)),
    mixed("runpod-key", &["rpa_"], r"[A-Z0-9]{40,50}\b"),
    mixed("wandb-key", &["wandb_v1_"], r"\w{40,128}"),
    mixed("elevenlabs-key", &["sk_"], r"[0-9a-f]{48}\b"),
    mixed("bedrock-key", &["ABSK"], r"[A-Za-z0-9+/]{80,300}={0,2}"),
    mixed("bedrock-key", &["bedrock-api-key-"], r"[A-Za-z0-9+/]{40,2048}={0,2}"),
];
