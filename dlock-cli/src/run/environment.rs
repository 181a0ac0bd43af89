//! The environment of the command: what dlock adds to it and keeps from it.

use std::{env, ffi::OsStr};

use dlock::{
    Fencing, Guard,
    config::{BackendUrl, URL_VARIABLE},
};
use tokio::process::Command;

use crate::store::WITHHELD;

/// The variable with the token.
const TOKEN: &str = "DLOCK_TOKEN";

/// Adds the name of the lock, and its token if that is a fencing token: a resource would take any other number for one.
/// Withholds a `DLOCK_URL` with a password, unless `keep_url`: what a command has in its environment ends up in its logs
/// and reports.
pub(crate) fn set(command: &mut Command, guard: &Guard, fencing: Fencing, keep_url: bool) {
    command.env("DLOCK_NAME", guard.name().as_str());
    match fencing {
        // Also not that of a lock around this one.
        Fencing::None => command.env_remove(TOKEN),
        _ => command.env(TOKEN, guard.token().to_string()),
    };
    let is_withheld = |url: &OsStr| !keep_url && may_have_secret(url);
    if env::var_os(URL_VARIABLE).is_some_and(|url| is_withheld(&url)) {
        command.env(URL_VARIABLE, WITHHELD);
    }
}

/// Whether a URL has a password. One that cannot be read may have one.
fn may_have_secret(url: &OsStr) -> bool {
    let url = url.to_str().and_then(|url| BackendUrl::parse(url).ok());
    url.is_none_or(|url| url.has_secret())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_url_without_a_password_is_passed_on() {
        for (url, may) in [
            ("redis://db-1", false),
            ("redis://app@db-1?password_file=/run/secrets/redis", false),
            ("redis://:hunter2@db-1", true),
            ("redis-sentinel://h/s?sentinel_password=hunter2", true),
            ("redis://app:hunter2", true),
        ] {
            assert_eq!(may_have_secret(OsStr::new(url)), may, "{url}");
        }
    }
}
