//! The fencing tokens of a quorum: nodes that know nothing of each other, each with a counter of its own.
//!
//! A client requests the lock of a name from all nodes. When enough of them have granted it, its token is the largest of
//! theirs. It then *raises* the held nodes: a node raises its counter to that token only while the entry is the
//! client's, and says so. The grant counts when a majority of all nodes has said so. A node that gave that token needs
//! no raise: it says so with its grant.
//!
//! *Why that is enough.* Two grants of a name have a node in common that both have raised. There the first raise is
//! before the second lock, as each raise was answered while the entry was there. So the second native token is above the
//! first token. No clock is part of the argument: nodes may forget locks, but no counters.
//!
//! **One counter for all names.** A node may count all names together, as Redis does. The argument needs only that
//! the counter does not fall, and that the lock of a name raises it. Raises for another name make it grow more. So
//! the model has two names over one counter.
//!
//! What is abstracted:
//!
//! * **Requests** are one step each, in any order. A node may give no answer, or its answer is lost: the entry then
//!   has no owner until it expires.
//! * **Time**: a client's own deadline ends nothing here. Instead a node may *forget* the entry of a living client, which
//!   does not learn of it: a clock that jumps, or a restart without persistence. That breaks exclusion, and tokens must
//!   grow all the same.
//! * **Renewals** change no token, and have no step. **Waits** end at any point.

mod canonical;
mod model;
mod rules;
mod state;
mod steps;
mod tests;
