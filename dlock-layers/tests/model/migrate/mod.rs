//! `migrate:`: processes that take the lock of one name in the old store, in both, or in the new one.
//!
//! A process has a URL of the runbook: the old store, `migrate:`, or the new store. One with `migrate:` takes the old
//! store's lock, then the new one's. Then it reads the record, and is granted the lock by what it read.
//!
//! What is abstracted:
//!
//! * **Time.** A lease *lapses* for its holder at any point. Its store may then end the entry, but not before (K1, K2).
//!   A renewal that is in time changes nothing, and has no step.
//! * **Requests** are one step each. Of an acquire the reply may be lost, and of a release the request may be late. Its
//!   entry then has no owner until it expires.
//! * **The record** is its stage. Its text and the compare-and-set are in the model `records`. A read of it is one
//!   step, and the grant is another one.
//! * **Names.** One: names share only the knowledge that the switch is done. So a process may get to know it at any
//!   point at which the new store answers.
//! * **A cancelled migration** is not in it: then no process with `migrate:` is granted a lock.
//! * **Waits** end at any point. A store that is down answers nothing, and loses nothing.
//! * **Tokens** of a store grow by one with each entry.

mod model;
mod rules;
mod state;
mod steps;
mod surroundings;
mod tests;
