//! Parts that several backends share.

pub(crate) mod backoff;
mod batcher;
mod reconnect;
mod single_flight;
mod wait;

pub use self::{
    backoff::Backoff,
    batcher::{BatchFuture, BatchReply, Batcher},
    reconnect::{ConnectFuture, Connected, ReconnectHooks, ReconnectSlot},
    single_flight::{SingleFlight, Turn},
    wait::{pause, pause_after},
};
pub use crate::base::{lock::Lock, random::fraction as random_fraction};
