//! One connection for requests.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use dlock_core::{BootInstant, Error, toolkit::SingleFlight};
use redis::{RedisResult, Value};

use super::driver::DriverConnection;
use crate::{
    conn::{history::History, probe::ClientId},
    errors::RedirectScope,
    scripts::{Call, Form, GrantCheck},
};

/// The reply of a native command that did what it should.
const DONE: Value = Value::Int(1);

/// The codes of a server that does not have a command, and of one that forbids it.
const REFUSALS: [Option<&str>; 2] = [Some("ERR"), Some("NOPERM")];

/// A server that cannot write its record is probed again after this.
const REPROBE_AFTER: Duration = Duration::from_secs(1);

/// A connection to a server that was probed.
pub(crate) struct Connection {
    pub(super) stream: DriverConnection,
    pub(super) client: ClientId,
    pub(super) grants: Grants,
    /// The single flight of waits for replicas, and when the last `WAIT` was sent that enough replicas confirmed.
    pub(super) replication: SingleFlight<Option<BootInstant>>,
    pub(super) native: NativeCommands,
}

/// Whether the server has commands that make a script unnecessary.
pub(super) struct NativeCommands(AtomicBool);

impl NativeCommands {
    /// Of a server that has them, as far as is known, or of one that does not.
    pub(super) const fn new(has: bool) -> Self {
        Self(AtomicBool::new(has))
    }

    fn has(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes that the server refuses one: it does not have it, or the user may not use it.
    fn refused(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Whether the server behind a connection grants. Renewals and releases go on in any case.
pub(super) enum Grants {
    /// The server grants from this time on, while it has this history.
    From(BootInstant, History),
    /// The server could not write the record of its history at that time, or must not grant.
    Refused(BootInstant, Error),
}

/// The reaction to a connection that must not grant.
pub(super) enum Refusal {
    Wait(Error),
    Reprobe(Error),
}

impl Connection {
    /// Whether a request that grants may be sent.
    pub(super) fn check_grants(&self, now: BootInstant) -> Result<(), Refusal> {
        match &self.grants {
            Grants::From(from, history) => match from.since(now) {
                Duration::ZERO => Ok(()),
                grace => Err(Refusal::Wait(history.refusal(grace))),
            },
            Grants::Refused(at, error) if now.since(*at) >= REPROBE_AFTER => {
                Err(Refusal::Reprobe(error.duplicate()))
            }
            Grants::Refused(_, error) => Err(Refusal::Wait(error.duplicate())),
        }
    }

    /// Sends a request: by a native command if that does, else by its script. A script that the server does not know is
    /// sent again in full.
    pub(super) async fn send(
        &self,
        call: &Call<'_>,
        scope: RedirectScope,
        highest_token: &AtomicU64,
    ) -> RedisResult<Value> {
        if self.native.has()
            && scope == RedirectScope::Slot
            && let Some(command) = call.render_native()
        {
            match command.query_async(&mut self.stream.clone()).await {
                Ok(DONE) => return Ok(DONE),
                Err(error) if error.code().is_none() => return Err(error),
                Err(error) if REFUSALS.contains(&error.code()) => self.native.refused(),
                // The script settles it, or gets the same error.
                Ok(_) | Err(_) => {}
            }
        }
        let reply = self.send_as(Form::Hash, call, scope, highest_token).await;
        // The server was restarted, or its scripts were flushed.
        let is_unknown = |error: &redis::RedisError| error.code() == Some("NOSCRIPT");
        if reply.as_ref().is_err_and(is_unknown) {
            // Boxed, as it is rare: the futures of requests stay small.
            return Box::pin(self.send_as(Form::Text, call, scope, highest_token)).await;
        }
        reply
    }

    async fn send_as(
        &self,
        form: Form,
        call: &Call<'_>,
        scope: RedirectScope,
        highest_token: &AtomicU64,
    ) -> RedisResult<Value> {
        let least_token = highest_token.load(Ordering::Acquire) + 1;
        let check = match &self.grants {
            Grants::From(_, history) => history.grant_check(least_token),
            Grants::Refused(..) => GrantCheck {
                record_keys: &[],
                record: "",
                least_token,
            },
        };
        let command = call.render(form, &check);
        match scope {
            RedirectScope::Slot => command.query_async(&mut self.stream.clone()).await,
            RedirectScope::Request => {
                let mut both = redis::pipe();
                // The error of a pipeline would not be that of the command.
                both.ignore_errors().cmd("ASKING").add_command(command);
                let mut stream = self.stream.clone();
                let replies: Vec<RedisResult<Value>> =
                    Box::pin(both.query_async(&mut stream)).await?;
                replies.into_iter().next_back().unwrap_or(Ok(Value::Nil))
            }
        }
    }
}
