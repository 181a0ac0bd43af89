//! Every request that dlock sends on an open connection, and its one rendering.

use redis::Cmd;

use crate::scripts::{
    acquire::{AcquireCall, GrantCheck},
    migration::MigrationCall,
    raise::RaiseCall,
    release::ReleaseCall,
    renew::RenewCall,
    script::Form,
};

/// A request. Its keys are all of one slot.
#[derive(Clone, Copy)]
pub(crate) enum Call<'a> {
    Acquire(AcquireCall<'a>),
    Renew(RenewCall<'a>),
    Release(ReleaseCall<'a>),
    Migration(MigrationCall<'a>),
    Raise(RaiseCall<'a>),
    /// A command that reads one key, with the arguments after that.
    Read {
        verb: &'static str,
        key: &'a str,
        args: &'static [&'static str],
    },
}

impl Call<'_> {
    /// The key that decides the node.
    pub(crate) fn key(&self) -> &str {
        match self {
            Self::Acquire(call) => call.key(),
            Self::Renew(call) => call.key(),
            Self::Release(call) => call.key(),
            Self::Migration(call) => call.key,
            Self::Raise(call) => call.key(),
            Self::Read { key, .. } => key,
        }
    }

    /// Whether it may grant a lock.
    pub(crate) fn grants(&self) -> bool {
        matches!(self, Self::Acquire(_))
    }

    /// Whether it does no harm if it is sent again after its reply was lost (K9).
    ///
    /// A change of the record of a migration does: the second one fails if the first one was executed.
    pub(crate) fn is_repeatable(&self) -> bool {
        !matches!(self, Self::Migration(call) if call.change.is_some())
    }

    /// The command without a script that may do the same, for a server that has it. If it replies with 1, it has.
    pub(crate) fn render_native(&self) -> Option<Cmd> {
        match self {
            Self::Release(call) => call.render_native(),
            _ => None,
        }
    }

    /// The command to send; `check` is for a request that grants.
    pub(crate) fn render(&self, form: Form, check: &GrantCheck<'_>) -> Cmd {
        match self {
            Self::Acquire(call) => call.render(form, check),
            Self::Renew(call) => call.render(form),
            Self::Release(call) => call.render(form),
            Self::Migration(call) => call.render(form),
            Self::Raise(call) => call.render(form),
            Self::Read { verb, key, args } => redis::cmd(verb).arg(*key).arg(*args).to_owned(),
        }
    }
}
