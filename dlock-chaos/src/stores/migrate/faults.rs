//! The faults of both stores of a move.

use std::sync::Arc;

use dlock_servers::{etcd, redis};
use dlock_verify::chaos::{Fault, client_side};
use tokio::sync::Mutex;

use super::{both::Both, moment::Moment};
use crate::{
    cluster::Members,
    faults::{of_cluster, of_servers},
    stores::{
        etcd::faults as of_etcd,
        redis::{commands, keys},
    },
};

/// Of Redis: it loses the record of the move, or locks that were released come back in it. Both are exceptions.
const NOT_OF_REDIS: [&str; 3] = ["flushall", "eviction", "put-back"];

/// Of Redis, too: after the switch it is passed over, and a lock that it alone has lost is not lost.
const NOT_AFTER_SWITCH: [&str; 2] = ["debug-sleep", "key-removed"];

pub(super) fn all(
    moment: Moment,
    old: &Arc<Mutex<redis::Node>>,
    new: &Arc<Members<etcd::Node>>,
) -> Vec<Arc<dyn Fault>> {
    let mut faults = client_side(true);
    faults.extend(of_servers(&Arc::new(Both(old.clone(), new.clone()))));
    faults.extend(of_cluster(new));
    faults.extend(of_etcd::all(new));
    let of_redis = commands::all(old).into_iter().chain(keys::all(old));
    faults.extend(of_redis.filter(|fault| {
        let matters = moment == Moment::BeforeSwitch || !NOT_AFTER_SWITCH.contains(&fault.id());
        matters && !NOT_OF_REDIS.contains(&fault.id())
    }));
    faults
}
