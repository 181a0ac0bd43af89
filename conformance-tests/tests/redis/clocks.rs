//! The server's clock is set (T13): forward it ends locks early, back it must not repeat tokens.
//!
//! Its clock is libfaketime's; without that library these cases are ignored.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::PathBuf,
    time::Duration,
};

use conformance_tests::servers::{
    Program,
    redis::{Flavour, Node},
};
use dlock::LostCause;
use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::kit::{Outcome, connect, run, soon, start, take, until_clean};

/// Where Debian and its like have it.
const LIBRARY: &str = "/usr/lib/{arch}-linux-gnu/faketime/libfaketime.so.1";

fn library() -> Option<PathBuf> {
    let path = PathBuf::from(LIBRARY.replace("{arch}", std::env::consts::ARCH));
    path.is_file().then_some(path)
}

pub(crate) fn trials(flavour: Flavour) -> Vec<Trial> {
    macro_rules! trials {
        ($($case:ident),* $(,)?) => {
            vec![$(Trial::test(
                format!("{}::{}", flavour.name(), stringify!($case)),
                move || run(flavour, $case),
            )),*]
        };
    }
    let trials = trials![
        t13_a_clock_that_is_set_forward_is_told_at_the_next_renewal,
        t13_tokens_grow_while_the_clock_is_set_back,
    ];
    let ignored = library().is_none();
    let ignore = |trial: Trial| trial.with_ignored_flag(ignored);
    trials.into_iter().map(ignore).collect()
}

/// A server and its clock.
struct Fake {
    node: Node,
    directory: TempDir,
}

impl Fake {
    async fn start(program: &Program) -> Outcome<Self> {
        let directory = TempDir::new()?;
        let library = library().ok_or("libfaketime is not installed")?;
        let clock = directory.path().join("clock");
        fs::write(&clock, "+0\n")?;
        let mut words = vec![
            "env".to_owned(),
            format!("LD_PRELOAD={}", library.display()),
            format!("FAKETIME_TIMESTAMP_FILE={}", clock.display()),
            "FAKETIME_NO_CACHE=1".to_owned(),
            // A set clock is the wall's.
            "DONT_FAKE_MONOTONIC=1".to_owned(),
        ];
        words.extend(words_of(program).await?);
        let words: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        let script = directory.path().join("server");
        fs::write(
            &script,
            format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" ")),
        )?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        let script = Program::of_the_system(script.to_str().unwrap_or_default())?;
        Ok(Self {
            node: start(&script, &[]).await?,
            directory,
        })
    }

    /// Sets the clock to this many seconds off the true time.
    async fn set(&self, seconds: i64) -> Outcome {
        let before = self.time().await?;
        // Replaced as a whole: the server may be reading it.
        let new = self.directory.path().join("new");
        fs::write(&new, format!("{seconds:+}\n"))?;
        fs::rename(&new, self.directory.path().join("clock"))?;
        let moved = async || Ok((self.time().await? - before).abs() > 60);
        crate::kit::until("the clock is set", moved).await
    }

    /// What its clock shows, in seconds.
    async fn time(&self) -> Outcome<i64> {
        let parts = self.node.ask(&["TIME"]).await?.array()?;
        let seconds = parts.into_iter().next().ok_or("no time")?;
        Ok(seconds.text()?.parse()?)
    }
}

/// The words of a server's command line, as one that runs has them.
async fn words_of(program: &Program) -> Outcome<Vec<String>> {
    let node = start(program, &["set-proc-title no"]).await?;
    let pid = node.process().pid().ok_or("it does not run")?;
    let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()))?;
    let words = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    let mut words: Vec<_> = words
        .map(|word| OsStr::from_bytes(word).to_string_lossy().into_owned())
        .collect();
    words.pop().ok_or("no configuration")?;
    Ok(words)
}

async fn t13_a_clock_that_is_set_forward_is_told_at_the_next_renewal(program: Program) -> Outcome {
    let fake = Fake::start(&program).await?;
    let locker = connect(fake.node.address(), "").await?;
    let other = connect(fake.node.address(), "").await?;
    let held = locker.acquire("a").ttl(Duration::from_secs(6)).await?;
    fake.set(3_600).await?;
    assert_eq!(
        soon("a renewal finds it gone", held.lost()).await?,
        LostCause::Removed
    );
    let next = take(&other, "a").await?;
    assert!(next.token() > held.token());
    next.renew().await?;
    next.release().await?;
    until_clean(&fake.node).await
}

async fn t13_tokens_grow_while_the_clock_is_set_back(program: Program) -> Outcome {
    let fake = Fake::start(&program).await?;
    let locker = connect(fake.node.address(), "").await?;
    let held = take(&locker, "a").await?;
    fake.set(-3_600).await?;
    // The key ends later by the server's clock; the holder's own deadline is not moved by that.
    held.renew().await?;
    let token = held.token();
    held.release().await?;
    let next = take(&locker, "a").await?;
    assert!(next.token() > token, "the counter goes on where it was");
    next.release().await?;
    until_clean(&fake.node).await
}
