//! Parts of the settings that several backends have.

mod hosts;
mod login;
mod timeouts;

pub use self::{hosts::HostList, login::Login, timeouts::Timeouts};
