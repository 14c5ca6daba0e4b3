//! Generates `docs/reference/configuration.md` from the types of [`super::raw`] and the resolved defaults.
//!
//! Keys, types and meanings come from the JSON Schema that schemars derives. Defaults come from the resolved
//! configuration of a file with only the required keys.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use crate::{explore, journal, load_text, memory, personal, raw, wiki};

/// A file with all sections and only their required keys.
const MINIMAL: &str = "[[backends]]\nname = \"a\"\nurl = \"http://a\"\ndialect = \"chat\"\n\
                       [memory.summarizer]\nbackend = \"a\"\nmodel = \"m\"\n\
                       [memory.reconciler]\nbackend = \"a\"\nmodel = \"m\"\n";

const HEAD: &str = "# Configuration reference

<!-- Generated from gateway/config/src/raw.rs by a test. Do not edit: change the types, then run
     `UPDATE_GOLDEN=1 cargo test -p muninn-config --lib configuration_reference`. -->

Muninn reads one user file, `muninn.toml`, and a file of the repository, `.muninn/config.toml`. `muninn config check`
prints the path of the user's file and checks both. Environment variables override the user's file, and flags override
environment variables; see [Environment variables](environment.md). Unknown keys are errors. Keys that end in `_ms` are
milliseconds. A default of \"none\" means that the key has no value unless the file sets it.

Send `SIGHUP` to a running gateway to reload the user's file. A file with errors is refused and the old configuration
stays in force. The address, the ledger's limits and the timeouts of client connections change only with a restart.
Commented examples are in `configs/`.
";

/// The resolved defaults in the form of a file. The struct literals are exhaustive, so a new key must be added here.
fn defaults() -> Value {
    let config = load_text(MINIMAL).unwrap();
    let millis = |time: std::time::Duration| Some(u64::try_from(time.as_millis()).unwrap());
    let word = |value: &dyn std::fmt::Debug| Some(format!("{value:?}").to_lowercase());
    let (backend, context, memory) = (&config.backends[0], &config.context, &config.memory);
    let (explore, limits) = (&config.explore, &config.limits);
    let summarizer = config.summarizer.as_ref().unwrap();
    let reconciler = config.reconciler.as_ref().unwrap().limits;
    let file = raw::UserFile {
        listen: Some(config.listen.to_string()),
        allowed_hosts: None,
        roots: None,
        discover: Some(config.discover),
        backends: vec![raw::Backend {
            name: backend.name.clone(),
            url: backend.url.to_string(),
            dialect: raw::OneOrMany::One("chat".to_owned()),
            key_env: None,
            key_file: None,
            api_keys: Vec::new(),
            client_credentials: Some(backend.client_credentials),
            default_model: backend.default_model.clone(),
            context_window: backend.context_window,
            prices: Some(raw::Prices {
                cache_write: Some(backend.prices.cache_write),
                cache_write_1h: Some(backend.prices.cache_write_1h),
                cached_read: Some(backend.prices.cached_read),
                output: Some(backend.prices.output),
            }),
            fallbacks: Vec::new(),
            retries: Some(backend.retries),
            first_byte_timeout_ms: millis(backend.first_byte_timeout),
            http2_prior_knowledge: Some(backend.http2_prior_knowledge),
        }],
        routes: Vec::new(),
        keys: Vec::new(),
        context: raw::Context {
            enabled: Some(context.enabled),
            deadline_ms: millis(context.deadline),
            tokens_with_tools: Some(context.tokens_with_tools),
            tokens_without_tools: Some(context.tokens_without_tools),
            tokens_per_conversation: Some(context.tokens_per_conversation),
            threshold: context.threshold,
            holdout: Some(context.holdout),
            always: Vec::new(),
            never: Vec::new(),
        },
        memory: memory::Memory {
            write: word(&memory.write),
            record: Some(if memory.with_text { "text" } else { "terms" }.to_owned()),
            sync: word(&memory.store.durability),
            default_branch: memory.store.default_branch.clone(),
            on_default_branch: word(&memory.store.default_branch_segments),
            idle_ms: millis(memory.idle),
            max_main_bytes: Some(memory.max_main_bytes),
            embedder: Some(memory::Embedder {
                model: Some(memory::EmbedderModel::Name(word(&config.embedder).unwrap())),
            }),
            summarizer: Some(memory::Summarizer {
                backend: None,
                model: None,
                daily_tokens: Some(summarizer.daily_tokens),
                max_answer_tokens: Some(summarizer.max_answer_tokens),
            }),
            reconciler: Some(memory::Reconciler {
                backend: None,
                model: None,
                run_tokens: u32::try_from(reconciler.tokens).ok(),
                max_answer_tokens: Some(reconciler.max_answer_tokens),
                answer_timeout_ms: millis(reconciler.patience),
            }),
        },
        hooks: raw::Hooks {
            enabled: Some(config.hooks.enabled),
            deadline_ms: millis(config.hooks.deadline),
            daemon_idle_minutes: Some(config.hooks.daemon_idle.as_secs() / 60),
        },
        wiki: wiki::Wiki {
            path: config.wiki.path.to_str().map(str::to_owned),
            link_style: word(&config.wiki.link_style),
            digest_in_prompt: word(&config.wiki.digest_in_prompt),
            digest: wiki::WikiDigest {
                cloud_size: Some(config.wiki.digest.cloud_size),
                recents_size: Some(config.wiki.digest.recents_size),
                cloud_refresh: Some(format!("{}m", config.wiki.digest.cloud_refresh.as_secs() / 60)),
                stopwords_extra: None,
                max_render_bytes: i64::try_from(config.wiki.digest.max_render_bytes).ok(),
            },
        },
        worklog: raw::Worklog { enabled: Some(config.worklog.enabled), track: Some(config.worklog.track) },
        personal: personal::Personal {
            enabled: Some(config.personal.enabled),
            path: None,
            git_remote: None,
            key: None,
            max_tokens: Some(config.personal.max_tokens),
            signals: Some(config.personal.signals),
            signals_days: Some(config.personal.signals_days),
            agents: BTreeMap::new(),
        },
        journal: journal::Journal {
            path: None,
            author: None,
            strict: Some(config.journal.strict),
            auto_gc: Some(config.journal.auto_gc),
            backend: None,
            model: None,
            max_answer_tokens: Some(config.journal.max_answer_tokens),
            search: journal::JournalSearch {
                max_results: Some(config.journal.search.max_results),
                default_salience_threshold: Some(config.journal.search.default_salience_threshold),
                half_life_days: Some(config.journal.search.half_life_days),
                minimum_salience: Some(config.journal.search.minimum_salience),
                context_weight: Some(config.journal.search.context_weight),
                content_weight: Some(config.journal.search.content_weight),
            },
        },
        explore: explore::Explore {
            mode: word(&explore.mode),
            backend: None,
            model: None,
            deadline_ms: millis(explore.deadline),
            tokens: Some(explore.tokens),
            calls: Some(explore.calls),
            depth: Some(explore.depth),
            turns: Some(explore.turns),
            pack_tokens: Some(explore.pack_tokens),
            max_answer_tokens: Some(explore.max_answer_tokens),
            tool_choice: word(&explore.tool_choice),
        },
        mcp: raw::Mcp { tools: None, http: Some(config.mcp.http), write: Some(config.mcp.write) },
        limits: raw::Limits {
            body_bytes: Some(limits.body_bytes),
            total_body_bytes: Some(limits.total_body_bytes),
            connect_timeout_ms: millis(limits.connect_timeout),
            first_byte_timeout_ms: millis(limits.first_byte_timeout),
            stream_idle_timeout_ms: millis(limits.stream_idle_timeout),
            circuit_failures: Some(limits.circuit.failures),
            circuit_cooldown_ms: millis(limits.circuit.cooldown),
            circuit_cooldown_max_ms: millis(limits.circuit.longest_cooldown),
            header_timeout_ms: millis(limits.header_timeout),
            idle_timeout_ms: millis(limits.idle_timeout),
            keep_alive_ms: millis(limits.keep_alive),
            drain_timeout_ms: millis(limits.drain_timeout),
            ledger_days: Some(limits.ledger_days),
            ledger_megabytes: Some(limits.ledger_megabytes),
        },
        test: raw::Test::default(),
    };
    serde_json::to_value(file).unwrap()
}

/// One section of a file: its TOML header and the schema of its table.
struct Section<'a> {
    name: String,
    schema: &'a Value,
    defaults: &'a Value,
}

fn render(schema: &Value, defaults: &Value) -> String {
    let mut out = String::new();
    let mut sections = vec![Section { name: String::new(), schema, defaults }];
    let mut next = 0;
    while let Some(section) = sections.get(next) {
        let (title, rows, mut below) = render_section(section, schema);
        out += &title;
        out += &rows;
        below.append(&mut sections.split_off(next + 1));
        sections.append(&mut below);
        next += 1;
    }
    out
}

fn render_section<'a>(section: &Section<'a>, file: &'a Value) -> (String, String, Vec<Section<'a>>) {
    let description = text(&section.schema["description"]);
    let title = match section.name.as_str() {
        "" => format!("\n{description}\n"),
        name => format!("\n### `{name}`\n\n{description}\n"),
    };
    let mut rows = String::new();
    let mut below = Vec::new();
    let properties: &Map<String, Value> = section.schema["properties"].as_object().unwrap();
    for (key, property) in properties {
        let default = match section.defaults {
            Value::Array(entries) => entries.first().map_or(&Value::Null, |entry| &entry[key]),
            table => &table[key],
        };
        let named = property["additionalProperties"]["$ref"].as_str();
        let tables = named.map(|reference| (definition(reference, file), false));
        if let Some((table, is_array)) = tables.or_else(|| table_of(property, file)) {
            let path = match section.name.trim_matches(['[', ']']) {
                "" => key.clone(),
                parent => format!("{parent}.{key}"),
            };
            let path = match named {
                Some(_) => format!("{path}.NAME"),
                None => path,
            };
            below.push(Section {
                name: if is_array { format!("[[{path}]]") } else { format!("[{path}]") },
                schema: table,
                defaults: default,
            });
            continue;
        }
        let is_required =
            section.schema["required"].as_array().is_some_and(|required| required.iter().any(|name| name == key));
        let default = match default {
            _ if is_required => "required".to_owned(),
            Value::Null => "none".to_owned(),
            Value::Array(list) if list.is_empty() => "none".to_owned(),
            value => format!("`{value}`"),
        };
        let meaning = text(&property["description"]);
        assert!(!meaning.is_empty(), "{}{key} has no comment", section.name);
        writeln!(rows, "| `{key}` | {} | {default} | {meaning} |", type_name(property, file)).unwrap();
    }
    if !rows.is_empty() {
        rows.insert_str(0, "\n| key | type | default | meaning |\n|---|---|---|---|\n");
    }
    (title, rows, below)
}

/// Returns the schema of a property that is a table, an optional table or a list of tables, and whether it is a list.
fn table_of<'a>(property: &Value, file: &'a Value) -> Option<(&'a Value, bool)> {
    let is_array = property["type"] == "array";
    let inner = if is_array { &property["items"] } else { property };
    let reference =
        inner["$ref"].as_str().or_else(|| inner["anyOf"].as_array()?.iter().find_map(|one| one["$ref"].as_str()))?;
    let table = definition(reference, file);
    (table["type"] == "object").then_some((table, is_array))
}

fn definition<'a>(reference: &str, file: &'a Value) -> &'a Value {
    file.pointer(reference.trim_start_matches('#')).unwrap()
}

fn type_name(schema: &Value, file: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return type_name(definition(reference, file), file);
    }
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        let mut names: Vec<_> = choices.iter().map(|choice| type_name(choice, file)).collect();
        names.retain(|name| name != "null");
        names.dedup();
        return names.join(" or ");
    }
    let name = match &schema["type"] {
        Value::Array(types) => types.iter().find(|name| *name != "null"),
        name => Some(name),
    };
    match name.and_then(Value::as_str).unwrap() {
        "array" => format!("list of {}", type_name(&schema["items"], file)),
        "object" => "table".to_owned(),
        name => name.to_owned(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

#[test]
fn configuration_reference_is_up_to_date() {
    let user = schemars::schema_for!(raw::UserFile).to_value();
    let repository = schemars::schema_for!(raw::RepositoryFile).to_value();
    let user = render(&user, &defaults());
    let repository = render(&repository, &Value::Null);
    let page = format!("{HEAD}\n## The user's file\n{user}\n## A repository's file\n{repository}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
    muninn_tests::assert_golden(&path, &page);
}
