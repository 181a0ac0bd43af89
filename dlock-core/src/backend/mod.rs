//! What implementors of a backend need.

pub(crate) mod atomic;
pub(crate) mod attempt;
pub(crate) mod capabilities;
pub(crate) mod distributed_lock;
pub(crate) mod holder;
pub(crate) mod layout_version;
pub(crate) mod lease;
pub(crate) mod options;
pub(crate) mod request;
pub(crate) mod state;
