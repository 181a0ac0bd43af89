//! Faults of servers, of any store.

mod cluster;
mod process;
mod rollback;

use std::sync::Arc;

use dlock_verify::chaos::Fault;

pub(crate) use self::{
    cluster::holds_back,
    rollback::{Rollback, start_all},
};
use crate::{
    cluster::{Member, Members},
    servers::Servers,
};

/// The faults of server processes: kill, terminate, stop, and data that are put back.
pub(crate) fn of_servers(servers: &Arc<impl Servers>) -> Vec<Arc<dyn Fault>> {
    let mut faults = process::all(servers);
    faults.push(Arc::new(Rollback(servers.clone())));
    faults
}

/// The faults of a cluster: of its members, of the network between them, and of its majority.
pub(crate) fn of_members<M: Member>(members: &Arc<Members<M>>) -> Vec<Arc<dyn Fault>> {
    let mut faults = process::all(members);
    faults.extend(of_cluster(members));
    faults
}

/// As [`of_members`], without those that strike any one server process.
pub(crate) fn of_cluster<M: Member>(members: &Arc<Members<M>>) -> Vec<Arc<dyn Fault>> {
    let mut faults = cluster::all(members);
    faults.push(Arc::new(rollback::MemberRollback(members.clone())));
    faults
}
