//! etcd: members, clusters, and a gRPC proxy.

pub(crate) mod access;
pub(crate) mod cluster;
pub(crate) mod member;

use dlock_raw::probe::{Report, Severity::Warning};
use dlock_servers::etcd::{self, Node, Options};

use crate::support::{Flavour, Outcome, assert_healthy, finding};

/// A server of one member with further arguments.
async fn start(flavour: Flavour, arguments: &[&str]) -> Outcome<Node> {
    let options = Options {
        arguments: arguments.iter().copied().map(str::to_owned).collect(),
        ..Options::default()
    };
    Ok(Node::start(&flavour.etcd()?.find()?, &options).await?)
}

/// Checks that there is nothing but these findings, and the version's, if it is an old one.
fn assert_only(flavour: Flavour, mut report: Report, ids: &[&str]) -> Outcome {
    if flavour.etcd()? == etcd::Flavour::Stable {
        finding(&report, Warning, "etcd.old-version")?;
        report
            .findings
            .retain(|finding| finding.id != "etcd.old-version");
    }
    for id in ids {
        finding(&report, Warning, id)?;
        report.findings.retain(|finding| finding.id != *id);
    }
    assert_healthy(&report);
    Ok(())
}
