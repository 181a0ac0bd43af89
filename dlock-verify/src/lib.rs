#![doc = include_str!("../README.md")]

pub mod checker;
pub mod history;
pub mod proxy;
pub mod support;

mod availability;
