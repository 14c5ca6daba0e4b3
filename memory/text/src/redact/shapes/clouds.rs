//! Keys of clouds, hosts, databases and the tools that run them.

use super::{Shape, distinct, inner, mixed, shape};

pub(super) const SHAPES: &[Shape] = &[
    shape("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], r"[A-Z0-9]{16}\b").refusing(is_documentation),
    mixed("google-key", &["AIza"], r"[\w-]{35}"),
    mixed("google-oauth-token", &["ya29."], r"[\w-]{20,2048}"),
    mixed("google-oauth-token", &["GOCSPX-"], r"[\w-]{28}"),
    mixed("google-oauth-token", &["1//0", "4/0A"], r"[\w-]{40,256}"),
    mixed(
        "azure-key",
        &["AccountKey=", "SharedAccessKey=", "accountkey=", "sharedaccesskey="],
        r"(?P<secret>[A-Za-z0-9+/]{40,90}={0,2})",
    ),
    mixed("azure-key", &["?sig=", "&sig=", "sig="], r"(?P<secret>[A-Za-z0-9%+/]{40,90}={0,2})"),
    inner("azure-key", &["Q~"], 4, r"[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}"),
    inner("azure-key", &["AZDO"], 76, r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b"),
    inner("azure-key", &["JQQJ99"], 60, r"[A-Za-z0-9]{40,60}JQQJ99[A-Za-z0-9]{16,40}\b"),
    mixed("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"[a-f0-9]{64}\b"),
    mixed("heroku-key", &["HRKU-"], r"[\w-]{36,64}"),
    mixed("openshift-token", &["sha256~"], r"[\w-]{43}"),
    mixed("scalingo-token", &["tk-us-"], r"[\w-]{48}"),
    mixed("alibaba-key", &["LTAI"], r"[A-Za-z0-9]{16,24}\b"),
    mixed("tencent-key", &["AKID"], r"[A-Za-z0-9]{32}\b"),
    mixed("yandex-key", &["AQVN"], r"[\w-]{35,38}"),
    mixed("cloudflare-key", &["v1.0-"], r"[a-f0-9]{24}-[a-f0-9]{146}\b"),
    mixed("vercel-token", &["vercel_blob_rw_"], r"\w{30,80}"),
    mixed("vercel-token", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], r"[A-Za-z0-9]{40,80}\b"),
    mixed("netlify-token", &["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"], r"[A-Za-z0-9]{36}\b"),
    mixed("fly-token", &["fo1_"], r"[\w-]{43}"),
    mixed("fly-token", &["fm1r_", "fm1a_", "fm2_"], r"[A-Za-z0-9+/]{80,2048}={0,3}"),
    mixed("render-key", &["rnd_"], r"[A-Za-z0-9]{28,40}\b"),
    mixed("planetscale-token", &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"], r"[\w=.-]{32,64}"),
    mixed("supabase-token", &["sbp_"], r"[a-f0-9]{40}\b"),
    mixed("supabase-token", &["sb_secret_"], r"[\w-]{20,64}"),
    mixed("neon-key", &["napi_"], r"[a-z0-9]{60,72}\b"),
    mixed("databricks-token", &["dapi"], r"[a-f0-9]{32}(?:-\d)?\b"),
    inner("terraform-token", &[".atlasv1."], 14, r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}"),
    mixed("vault-token", &["hvs.", "hvb.", "hvr."], r"[\w-]{24,300}"),
    mixed(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b",
    ),
    mixed("pulumi-token", &["pul-"], r"[a-f0-9]{40}\b"),
    mixed("infracost-key", &["ico-"], r"[A-Za-z0-9]{32}\b"),
    mixed("onepassword-token", &["ops_eyJ"], r"[A-Za-z0-9+/_-]{100,4096}={0,3}"),
    mixed("onepassword-token", &["A3-"], r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b"),
    mixed("tailscale-key", &["tskey-"], r"[a-z]{2,12}-[A-Za-z0-9]{8,32}(?:-[A-Za-z0-9]{16,64})?\b"),
    mixed("age-key", &["AGE-SECRET-KEY-1"], r"[A-Z0-9]{58}\b"),
];

/// Returns whether this is a documentation key, which ends in a word that says so.
fn is_documentation(secret: &str) -> bool {
    secret.ends_with("EXAMPLE") || distinct(secret) < 6
}
