//! Locks that most of several independent stores hold: the schemes `quorum:` and `redis-quorum:`.
//!
//! An acquire sends a request to all nodes at once. It is granted when `need` of them hold the lock, more than half. Their deadlines
//! count: the lock is held until the `need`-th latest one. A waiter waits at one node after the other, in the order of
//! the nodes, and keeps the locks that it has. That order is total, so waiters do not block each other.
//!
//! A node that holds the lock is a member of the grant. The lease in its store is the part of it.
//!
//! The token is the largest one of the nodes that hold the lock. Before the grant, a majority of all nodes has raised
//! its counter to it, each while the lock was held there. Two majorities have a node in common. There one grant comes
//! after the other, and after its raise, so it has a larger token.

mod acquire;
mod backend;
mod capabilities;
mod config;
mod deadline;
mod gather;
mod hold;
mod inspect;
mod late;
mod node;
mod nodes;
mod options;
mod pending;
mod place;
mod probe;
mod refusal;
mod repair;
mod round;
mod silence;
mod tally;
mod token;
mod wait;

pub(crate) use self::config::nodes;
pub use self::{
    backend::QuorumLock, capabilities::capabilities, config::register, node::Node,
    options::QuorumOptions,
};
