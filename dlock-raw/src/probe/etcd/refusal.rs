//! Requests that a cluster refuses, or does not answer.

use etcd_client::Error as DriverError;

use crate::{
    driver::etcd::is_denied,
    probe::{finding::Check, report::Report},
};

/// Notes that a check has no answer.
pub(super) fn note(check: &Check, error: &DriverError, user: Option<&str>, report: &mut Report) {
    let grant = match (is_denied(error), user) {
        (true, Some(user)) => format!("etcdctl user grant-role {user} root"),
        (true, None) => "a user and a password in the URL".to_owned(),
        (false, _) => "an answer: the cluster may have no leader".to_owned(),
    };
    report.no_answer(check, error, grant);
}
