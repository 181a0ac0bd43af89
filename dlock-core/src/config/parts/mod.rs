//! Parts of the settings that several backends have.

mod hosts;
mod login;
mod password;
mod timeouts;

pub use self::{
    hosts::HostList,
    login::{Credentials, Login, LoginKeys},
    password::Password,
    timeouts::Timeouts,
};
