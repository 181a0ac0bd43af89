//! The history of a run: events of clients, their recorder, and a fenced register.

mod event;
mod recorder;
mod register;

pub use self::{
    event::{Event, EventKind, History},
    recorder::{RecordedGuard, Recorder},
    register::{Access, FencedRegister},
};
