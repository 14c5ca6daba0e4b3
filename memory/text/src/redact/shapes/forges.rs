//! Tokens of code hosts, package registries, and build and analysis services.

use super::{Shape, mixed};

pub(super) const SHAPES: &[Shape] = &[
    mixed("github-token", &["ghp_", "gho_", "ghs_", "ghu_", "ghr_"], r"[A-Za-z0-9]{20,255}"),
    mixed("github-token", &["github_pat_"], r"\w{20,255}"),
    mixed("gitlab-token", &["glpat-", "glrt-"], r"[\w-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?"),
    mixed(
        "gitlab-token",
        &["gldt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "glwt-"],
        r"[\w-]{20,128}",
    ),
    mixed("gitlab-token", &["GR1348941"], r"[\w-]{20,64}"),
    mixed("bitbucket-token", &["ATCTT3", "ATBB"], r"[\w=.-]{24,300}"),
    mixed("atlassian-token", &["ATATT3", "ATOA", "ATSTT3"], r"[\w=.-]{60,300}"),
    mixed("npm-token", &["npm_"], r"[A-Za-z0-9]{36}\b"),
    mixed("pypi-token", &["pypi-"], r"[\w-]{50,1024}"),
    mixed("rubygems-token", &["rubygems_"], r"[a-f0-9]{48}\b"),
    mixed("crates-token", &["cio"], r"[A-Za-z0-9]{32}\b"),
    mixed("docker-token", &["dckr_pat_", "dckr_oat_"], r"[\w-]{20,64}"),
    mixed("nuget-key", &["oy2"], r"[a-z0-9]{43}\b"),
    mixed("clojars-token", &["CLOJARS_", "clojars_"], r"[a-z0-9]{60}\b"),
    mixed("artifactory-token", &["AKCp"], r"[A-Za-z0-9]{69}\b"),
    mixed("artifactory-token", &["cmVmd"], r"[A-Za-z0-9]{59}\b"),
    mixed("buildkite-token", &["bkua_"], r"[a-z0-9]{40}\b"),
    mixed("circleci-token", &["CCIPAT_", "CCIPRJ_"], r"\w{40,80}"),
    mixed("sonar-token", &["squ_", "sqp_", "sqa_"], r"[0-9a-f]{40}\b"),
    mixed("postman-key", &["PMAK-"], r"[0-9a-fA-F]{24}-[0-9a-fA-F]{34}\b"),
    mixed("readme-key", &["rdme_"], r"[a-z0-9]{70}\b"),
    mixed("sourcegraph-token", &["sgp_"], r"(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}\b"),
    mixed("octopus-key", &["API-"], r"[A-Z0-9]{26}\b"),
    mixed("jetbrains-token", &["perm:"], r"[A-Za-z0-9+/=]{4,64}\.[A-Za-z0-9+/=]{4,64}\.[A-Za-z0-9+/=]{20,64}"),
    mixed("gitlab-token", &["_gitlab_session="], r"(?P<secret>[0-9a-z]{32})\b"),
    mixed("harness-token", &["pat.", "sat."], r"[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}\b"),
    mixed("prefect-key", &["pnu_"], r"[A-Za-z0-9]{36}\b"),
];
