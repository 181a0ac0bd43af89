//! The history of a run: events of clients, their recorder, its file format, and the registers of a run.
//!
//! A written history is `dlock-history/1`: JSON Lines, of which the first is a [`Header`] and each other one an
//! [`Event`].

mod event;
mod guard;
mod header;
mod line;
mod log;
mod name;
mod outcome;
mod reader;
mod recorder;
mod register;
mod registers;
mod sink;
mod writer;

pub use self::{
    event::{Entry, Event, EventKind, FaultPhase, Owner, RegisterKind},
    guard::RecordedGuard,
    header::{FORMAT, Header, RecordedCapabilities},
    log::History,
    name::{Name, Names},
    outcome::{RefusalEffect, RefusalKind},
    reader::{ReadError, Reader},
    recorder::Recorder,
    register::{Access, FencedRegister},
    registers::Registers,
    writer::Writer,
};
