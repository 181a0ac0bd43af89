//! The traits that all public types have.

use std::{
    collections::HashSet,
    error::Error as StdError,
    fmt::{Debug, Display},
    hash::Hash,
    str::FromStr,
    time::Duration,
};

use dlock_core::{
    Acquire, AcquireAll, AttemptId, BootInstant, Capabilities, Clock, Effect, Error, ErrorKind,
    ExpiresWithin, Guard, GuardSet, Holder, LockName, Locker, LockerBuilder, Lost, LostCause, Mode,
    Token, TryAcquire,
    backend::{
        AcquireRequest, Attempt, Deadline, DistributedLock, LayoutVersion, Lease, Renewal, Renewed,
        SentAt, Wait,
    },
    config::{
        BackendUrl, CommonSettings, Config, Credentials, Discovery, Host, Login, Password,
        Registry, Secret, Settings, Source, Tls,
    },
    memory::{Fault, Memory, Operation},
    toolkit::{Backoff, Batcher, Lock, SingleFlight},
};

use crate::common::{NAME, locker};

/// Names the types for which `$function` must compile.
macro_rules! all {
    ($function:ident: $($name:ty),+ $(,)?) => { $($function::<$name>();)+ };
}

fn is_shareable<T: Debug + Send + Sync + Unpin>() {}
fn is_value<T: Clone + Debug + Eq + Hash>() {}
fn is_text<T: Display + FromStr<Err: Into<Box<dyn StdError>>>>() {}

#[test]
fn each_type_is_shareable_and_has_debug() {
    all!(is_shareable:
        Acquire, AcquireAll, AcquireRequest, Attempt, BackendUrl, Backoff, Batcher<u8, u8>,
        Box<dyn DistributedLock>, Clock, Config, Credentials, Discovery<'_>, Error, ExpiresWithin,
        Guard, GuardSet, Lease, Lock<u8>, Locker, LockerBuilder, Login, Lost, Memory, Password,
        Registry, Secret, Settings, SingleFlight<u8>, Tls, TryAcquire,
    );
}

#[test]
fn each_value_can_be_cloned_compared_and_hashed() {
    all!(is_value:
        AttemptId, BackendUrl, BootInstant, Capabilities, CommonSettings, Config, Deadline, Effect,
        ErrorKind, Fault, Holder, Host, LayoutVersion, LockName, LostCause, Mode, Operation,
        Renewal, Renewed, Secret, SentAt, Source, Token, Wait,
    );
    all!(is_shareable: Capabilities, Config, Holder, LockName, LostCause, Source, Token);
}

#[test]
fn each_text_can_be_written_and_read() {
    all!(is_text: AttemptId, BackendUrl, Config, Host, LockName, Token);
}

#[test]
fn a_name_is_found_in_a_set_by_its_text() {
    let names = HashSet::from([LockName::new(NAME).expect("name")]);
    assert!(names.contains(NAME));
}

#[tokio::test]
async fn debug_is_never_empty() {
    let locks = locker(Memory::new());
    let guard = locks.acquire(NAME).await.expect("free");
    let outputs = [
        format!("{:?}", guard.lost()),
        format!("{:?}", guard.expires_within(Duration::ZERO)),
        format!("{guard:?}"),
        format!("{locks:?}"),
        format!("{:?}", locks.acquire_all(["a"]).await.expect("free")),
        format!("{:?}", locks.acquire(NAME)),
        format!("{:?}", Clock::boottime()),
        format!("{:?}", Discovery::new()),
        format!("{:?}", Registry::new()),
        format!("{:?}", Secret::new("")),
        format!("{:?}", CommonSettings::default()),
    ];
    for output in outputs {
        assert!(!output.is_empty());
    }
}
