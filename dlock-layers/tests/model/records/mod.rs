//! The records of a migration, changed by operators at the same time: `dlock migrate start`, `switch` and `cancel`.
//!
//! An operator reads both records, and then changes one after the other. Each change is a compare-and-set with what it
//! read. It may be cut off at any point. Both directions occur: locks may go back.
//!
//! What is abstracted:
//!
//! * **The text** of a record is its stage, the identity of the migration, and the command that wrote it, in the place of
//!   a time and a process. URLs are those of the two stores, always.
//! * **A lost reply** of a change: the code writes the same text once more, which finds whether it was written. So it
//!   is as an answer, or as an end of the command.
//! * **No record is lost** by its store while a command runs. That is an exception of the contract. One search begins
//!   with an old store that has lost its record after the switch.

mod commands;
mod model;
mod state;
mod tests;
