#![doc = include_str!("../README.md")]

pub mod clients;
pub mod etcd;
pub mod local;
pub mod mysql;
pub mod redis;
pub mod zk;

mod certificates;
mod clock;
mod controls;
mod copy;
mod links;
mod parent;
mod port;
mod process;
mod program;
mod until;

pub use self::{
    certificates::Certificates, clock::SetClock, copy::copy_directory, links::Links, port::Port,
    process::Process, program::Program,
};
