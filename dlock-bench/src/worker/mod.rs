//! The further processes of a run: what they do, and how the run talks to them.
//!
//! A worker connects to the store and answers requests, one line of JSON each. It ends with its standard input, so
//! it does not outlive the run. All times are of the machine's one boot-time clock.

mod handle;
mod protocol;
mod serve;
mod spin;

pub(crate) use self::{
    handle::{Worker, unexpected},
    protocol::{Reply, Request, Turn},
    serve::{HOLD, take_turns},
};
pub use self::{
    serve::{one_shot, serve},
    spin::spin,
};
