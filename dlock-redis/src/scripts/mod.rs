//! Lua scripts that run in the server: each with its arguments, its rendering and its reply.

mod acquire;
mod call;
mod history;
mod migration;
mod raise;
mod release;
mod renew;
mod script;

pub(crate) use self::{
    acquire::{AcquireCall, AcquireItem, Contended, GrantCheck, Outcome, Waits},
    call::Call,
    history::{HistoryCall, HistoryReply},
    migration::{MigrationCall, MigrationChange},
    raise::{RaiseCall, RaiseItem},
    release::{Listeners, ReleaseCall, ReleaseItem, Written},
    renew::{RenewCall, RenewItem, RenewOutcome},
    script::{Form, millis},
};
