//! The parts that most checks share.

use crate::probe::finding::Check;

pub(super) const EXCEPTIONS: &str = "dlock-redis/README.md#exceptions";
pub(super) const SETTINGS: &str = "dlock-redis/README.md#settings";
pub(super) const ACL: &str = "dlock-redis/README.md#acl";

/// A check that no exception of the contract is about.
pub(super) const PLAIN: Check = Check {
    id: "",
    setting: "",
    clause: "K1",
    effect: "",
    advice: "",
    exception: None,
    readme: "dlock-redis/README.md#guarantees",
};
