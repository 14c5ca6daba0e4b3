//! Tokens of services: messages, mail, money, shops, documents, monitoring.

use super::formats::base64;
use super::{Shape, inner, mixed, shape};
use crate::redact::value::is_random;

const UUID: &str = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b";

pub(super) const SHAPES: &[Shape] = &[
    mixed(
        "slack-token",
        &["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-"],
        r"[\w.-]{10,400}",
    ),
    mixed("slack-token", &["xapp-"], r"\d-[A-Z0-9]{8,16}-\d{8,16}-[A-Za-z0-9]{32,80}"),
    mixed(
        "slack-webhook",
        &["hooks.slack.com/"],
        r"(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9]{8,16}/[\w/-]{20,100})",
    ),
    mixed(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"(?P<secret>\d{15,20}/[\w-]{50,100})",
    ),
    // An id of 17 to 19 digits in base64, a time, and a signature. The first two digits of the id determine the first
    // two letters.
    mixed(
        "discord-token",
        &["MT", "MD", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"],
        r"[A-Za-z0-9]{20,26}\.[\w-]{6}\.[\w-]{27,38}",
    )
    .refusing(|token| !is_discord_id(token) && !is_random(token)),
    mixed("discord-token", &["mfa."], r"[\w-]{80,90}"),
    mixed("teams-webhook", &["webhook.office.com/webhookb2/"], r"(?P<secret>[0-9a-f-]{36}@[\w/-]{60,200})"),
    mixed(
        "google-chat-webhook",
        &["chat.googleapis.com/v1/spaces/"],
        r"[\w-]{1,32}/messages\?(?P<secret>[\w&=%-]{40,300})",
    ),
    inner("telegram-token", &[":AA"], 24, r"(?:bot)?(?P<secret>\d{8,10}:AA[\w-]{33})"),
    mixed("twilio-key", &["AC", "SK"], r"[0-9a-f]{32}\b"),
    mixed("sendgrid-key", &["SG."], r"[\w-]{16,24}\.[\w-]{40,48}"),
    mixed("mailgun-key", &["key-"], r"[0-9a-f]{32}\b"),
    inner("mailchimp-key", &["-us"], 32, r"[0-9a-f]{32}-us\d{1,2}\b"),
    mixed("brevo-key", &["xkeysib-", "xsmtpsib-"], r"[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    mixed("resend-key", &["re_"], r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b"),
    mixed("square-token", &["EAAA", "sq0atp-", "sq0csp-"], r"[\w-]{22,64}"),
    mixed("stripe-key", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_"], r"[A-Za-z0-9]{16,256}"),
    mixed("stripe-key", &["whsec_"], r"[A-Za-z0-9+/]{24,80}={0,2}"),
    mixed("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"], r"[a-fA-F0-9]{32}\b"),
    mixed("paypal-token", &["access_token$"], r"(?:production|sandbox)\$[a-z0-9]{12,20}\$[a-f0-9]{32}\b"),
    mixed("plaid-token", &["access-sandbox-", "access-development-", "access-production-"], UUID),
    mixed("flutterwave-key", &["FLWSECK-", "FLWSECK_TEST-"], r"[0-9a-fA-F]{12,40}(?:-X)?"),
    mixed("shippo-token", &["shippo_live_", "shippo_test_"], r"[a-fA-F0-9]{40}\b"),
    mixed("easypost-key", &["EZAK", "EZTK"], r"[A-Za-z0-9]{54}\b"),
    mixed("duffel-token", &["duffel_test_", "duffel_live_"], r"[\w=-]{43}"),
    mixed("facebook-token", &["EAAM", "EAAC", "EAAG", "EAAB"], r"[A-Za-z0-9]{90,400}"),
    mixed("linear-key", &["lin_api_", "lin_oauth_"], r"[A-Za-z0-9]{32,64}\b"),
    mixed("notion-token", &["ntn_"], r"[0-9]{11}[A-Za-z0-9]{30,40}\b"),
    mixed("notion-token", &["secret_"], r"[A-Za-z0-9]{43}\b"),
    mixed("airtable-token", &["pat"], r"[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    mixed("figma-token", &["figd_"], r"[\w-]{36,64}"),
    mixed("hubspot-token", &["pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"], UUID),
    mixed("typeform-token", &["tfp_"], r"[\w=.-]{40,80}"),
    mixed("dropbox-token", &["sl."], r"[\w=-]{130,1500}"),
    mixed("contentful-token", &["CFPAT-"], r"[\w-]{43}"),
    mixed("trello-token", &["ATTA"], r"[0-9a-f]{64}[0-9A-Fa-f]{8}\b"),
    mixed("newrelic-key", &["NRAK-", "NRII-", "NRIQ-", "NRRA-"], r"[A-Za-z0-9_-]{27,42}"),
    inner("newrelic-key", &["NRAL"], 36, r"[0-9a-f]{36}NRAL\b"),
    mixed("sentry-token", &["sntrys_"], r"eyJ[A-Za-z0-9+/=_-]{40,1024}"),
    mixed("sentry-token", &["sntryu_"], r"[a-f0-9]{64}\b"),
    shape("sentry-dsn", &["://"], r"(?P<secret>[0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]{1,100}/\d{1,20}\b").anywhere(),
    mixed("grafana-token", &["glsa_"], r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}\b"),
    mixed("grafana-token", &["glc_"], r"[A-Za-z0-9+/]{32,400}={0,3}"),
    mixed("grafana-token", &["eyJrIjoi"], r"[A-Za-z0-9+/]{60,400}={0,3}"),
    mixed("dynatrace-token", &["dt0c01.", "dt0s01.", "dt0s16."], r"[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    mixed("launchdarkly-key", &["sdk-", "mob-", "api-"], UUID),
    mixed("honeycomb-key", &["hcaik_", "hcaic_"], r"[a-z0-9]{40,64}\b"),
    mixed("posthog-key", &["phx_"], r"[A-Za-z0-9]{40,64}\b"),
    mixed("adobe-secret", &["p8e-"], r"[A-Za-z0-9_-]{32}\b"),
    mixed("mapbox-token", &["sk.eyJ"], r"[\w-]{40,200}\.[\w-]{20,24}"),
    mixed("intra42-secret", &["s-s4t2ud-", "s-s4t2af-"], r"[a-f0-9]{64}\b"),
    mixed("settlemint-token", &["sm_aat_", "sm_pat_", "sm_sat_"], r"[A-Za-z0-9]{16}\b"),
    mixed("frameio-token", &["fio-u-"], r"[\w=-]{64}"),
    inner("maxmind-key", &["_mmk"], 36, r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b"),
];

/// Returns whether the beginning of a token, without its first two letters, is an id in base64: the complete groups after
/// the first one hold digits.
fn is_discord_id(token: &str) -> bool {
    let id = token.split('.').next().unwrap_or_default();
    let digits = base64(id.get(2..).unwrap_or_default());
    digits.len() > 10 && digits.iter().all(u8::is_ascii_digit)
}
