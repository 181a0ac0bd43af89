//! `migrate:`: processes that take the lock of one name in the old store, in both, or in the new one.
//!
//! A process has a URL of the runbook: the old store, `migrate:`, or the new store. One with `migrate:` takes the old
//! store's lock, then the new one's. Then it is granted the lock by what it knows of the records, or reads now.
//!
//! What is abstracted:
//!
//! * **Time.** A lease *lapses* for its holder at any point. Its store may then end the entry, but not before (K1, K2).
//!   A renewal that is in time changes nothing, and has no step.
//! * **Requests** are one step each. Of an acquire the reply may be lost, and of a release the request may be late. Its
//!   entry then has no owner until it expires.
//! * **The record** is its stage. Its text and the compare-and-set are in the model `records`. A read of it is one
//!   step, and the grant is another one.
//! * **Names.** One: names share only what the process knows of the records. So it may get to know that at any point at
//!   which the store answers.
//! * **Proof.** A reading that finds the old store open is a proof for a time. The switch waits for longer than that
//!   between `closed` and `arrived`. So it happens when no process has a proof.
//! * **A cancelled migration** is not in it: then no process with `migrate:` is granted a lock.
//! * **Waits** end at any point. A store that is down answers nothing, and loses nothing.
//! * **Tokens** of a store grow by one with each entry.

mod model;
mod rules;
mod state;
mod steps;
mod surroundings;
mod tests;
