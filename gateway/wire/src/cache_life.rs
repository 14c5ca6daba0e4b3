//! How long a backend caches a prompt after its last use.

use std::sync::LazyLock;
use std::time::Duration;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::convert::answer::Usage;

/// The part that all keys have. It is searched for once.
static IN_ALL_KEYS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("cache_"));

/// The life of a prompt cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheLife {
    /// What vendors keep without being asked.
    #[default]
    FiveMinutes,
    Hour,
}

impl CacheLife {
    pub fn duration(self) -> Duration {
        Duration::from_mins(match self {
            CacheLife::FiveMinutes => 5,
            CacheLife::Hour => 60,
        })
    }

    /// The longest life that a request body asks for: `ttl` of `cache_control` (Anthropic), `prompt_cache_retention` and
    /// `prompt_cache_options` (OpenAI). A quote inside a string is escaped, so a text asks for nothing.
    pub fn asked(body: &[u8]) -> CacheLife {
        let is_long = |at: usize| {
            let (before, rest) = body.split_at(at);
            let asked = |begin: &str, end: &str| {
                let rest = rest.strip_prefix(end.as_bytes()).filter(|_| before.ends_with(begin.as_bytes()))?;
                value(rest)
            };
            asked("\"", "cache_control\"").is_some_and(|asked| asked.ttl() == Some("1h"))
                || asked("\"prompt_", "cache_retention\"").is_some_and(|asked| asked.text() == Some("24h"))
                || asked("\"prompt_", "cache_options\"")
                    .is_some_and(|asked| asked.ttl().is_some_and(|ttl| ttl.ends_with('h')))
        };
        if IN_ALL_KEYS.find_iter(body).any(is_long) { CacheLife::Hour } else { CacheLife::FiveMinutes }
    }

    /// The life of what an answer's usage says that it wrote; `None` if it wrote nothing, or does not say.
    pub fn reported(usage: &Usage) -> Option<CacheLife> {
        let written = usage.cache_write.filter(|written| *written > 0)?;
        Some(match usage.cache_write_1h? {
            0 => CacheLife::FiveMinutes,
            hour if hour <= written => CacheLife::Hour,
            _ => return None,
        })
    }
}

/// The value of a key that asks for a cache.
#[derive(Deserialize)]
#[serde(untagged)]
enum Asked<'b> {
    Text(&'b str),
    Object {
        #[serde(borrow)]
        ttl: Option<&'b str>,
    },
}

impl Asked<'_> {
    fn ttl(&self) -> Option<&str> {
        match self {
            Asked::Object { ttl } => *ttl,
            Asked::Text(_) => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Asked::Text(text) => Some(text),
            Asked::Object { .. } => None,
        }
    }
}

/// The value after a key.
fn value(after_key: &[u8]) -> Option<Asked<'_>> {
    let value = after_key.trim_ascii_start().strip_prefix(b":")?;
    serde_json::Deserializer::from_slice(value).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_asks_for_an_hour_in_every_vendors_words() {
        for body in [
            r#"{"cache_control":{"type":"ephemeral","ttl":"1h"}}"#,
            r#"{"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}],"messages":[{"content":[{"cache_control" : {"ttl":"1h","type":"ephemeral"}}]}]}"#,
            r#"{"prompt_cache_retention":"24h"}"#,
            r#"{"prompt_cache_options":{"mode":"implicit","ttl":"12h"}}"#,
        ] {
            assert_eq!(CacheLife::asked(body.as_bytes()), CacheLife::Hour, "{body}");
        }
        for body in [
            "",
            "{}",
            r#"{"cache_control":{"type":"ephemeral"}}"#,
            r#"{"cache_control":{"type":"ephemeral","ttl":"5m"}}"#,
            r#"{"cache_control":null,"ttl":"1h"}"#,
            r#"{"cache_control":{"ttl":"1"#,
            r#"{"content":"{\"cache_control\":{\"ttl\":\"1h\"}}"}"#,
            r#"{"prompt_cache_retention":"in_memory"}"#,
            r#"{"prompt_cache_options":{"ttl":"30m"}}"#,
        ] {
            assert_eq!(CacheLife::asked(body.as_bytes()), CacheLife::FiveMinutes, "{body}");
        }
    }

    #[test]
    fn an_answer_reports_the_life_of_what_it_wrote() {
        let reported = |usage: &str| {
            let mut watch = crate::UsageWatch::default();
            watch.push(format!(r#"{{"usage":{usage}}}"#).as_bytes());
            CacheLife::reported(&watch.usage())
        };
        let written = |hour: u64| {
            format!(
                r#"{{"input_tokens":1,"cache_creation_input_tokens":9,"cache_creation":{{"ephemeral_5m_input_tokens":{},"ephemeral_1h_input_tokens":{hour}}}}}"#,
                9 - hour
            )
        };
        assert_eq!(reported(&written(9)), Some(CacheLife::Hour));
        assert_eq!(reported(&written(0)), Some(CacheLife::FiveMinutes));
        for silent in [
            r#"{"input_tokens":1}"#,
            r#"{"input_tokens":1,"cache_creation_input_tokens":9}"#,
            r#"{"input_tokens":1,"cache_creation_input_tokens":0,"cache_creation":{"ephemeral_1h_input_tokens":0}}"#,
        ] {
            assert_eq!(reported(silent), None, "{silent}");
        }
    }
}
