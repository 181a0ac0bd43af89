//! What happened in a run: events of clients, the recorder that writes them, and a fenced register.

mod event;
mod recorder;
mod register;

pub use self::{
    event::{Event, History, What},
    recorder::{Held, Recorder},
    register::{Access, FencedRegister},
};
