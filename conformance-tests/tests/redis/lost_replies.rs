//! The server did it, and nobody heard so (T1, T3).

use std::time::Duration;

use conformance_tests::{
    proxy::{Connection, Direction::ToClient, Fault, Faults, Proxy},
    servers::{Program, redis::Node},
};
use dlock::{Effect, ErrorKind, Guard, Locker};

use crate::kit::{
    Outcome, RACES, SOON, cases, connect, locks, refused, soon, start, take, until, until_clean,
    until_listeners, value, warm_up,
};

cases![
    t01_lost_reply_of_a_try_acquire,
    t01_lost_reply_of_a_waiting_acquire,
    t01_lost_reply_of_a_waiter_that_was_woken,
    t01_no_reply_ever_to_a_try_acquire_is_undone,
    t01_no_reply_ever_to_a_waiting_acquire_is_undone,
    t03_lost_reply_of_a_release,
    t03_a_repeated_release_spares_the_successor,
    t03_lost_reply_of_a_renewal,
];

/// A client behind a proxy, and its connection for requests.
struct Line {
    node: Node,
    proxy: Proxy,
    locker: Locker,
}

impl Line {
    async fn new(program: &Program) -> Outcome<Self> {
        let node = start(program, &[]).await?;
        let proxy = Proxy::start(node.address())?;
        let locker = connect(proxy.address(), "").await?;
        warm_up(&locker).await?;
        Ok(Self {
            node,
            proxy,
            locker,
        })
    }

    /// The newest connection.
    fn last(&self) -> Outcome<Connection> {
        let last = self.proxy.connections().pop();
        last.ok_or_else(|| "no connection".into())
    }

    /// Runs an acquire of `a` of which the first reply on `line` is lost; it must come back with the
    /// very grant that was lost.
    async fn lose_reply(
        &self,
        line: &Connection,
        acquire: impl IntoFuture<Output = dlock::Result<Guard>>,
    ) -> Outcome<Guard> {
        let next = self.proxy.accepted();
        self.proxy.set_next(Faults::both(Fault::Hold));
        line.set(ToClient, Fault::CutInstead);
        let first = async {
            line.until_ended().await;
            let first = value(&self.node, "a").await?.ok_or("it was not granted")?;
            self.proxy.connection(next).await.set_both(Fault::None);
            Outcome::Ok(first)
        };
        let both = async { tokio::join!(acquire.into_future(), first) };
        let (guard, first) = soon("the reply is lost and found", both).await?;
        let (guard, first) = (guard?, first?);
        let token = format!("{} {} ", guard.id(), guard.token());
        assert!(first.starts_with(&token), "{token} but first {first}");
        assert_eq!(value(&self.node, "a").await?, Some(first));
        assert!(guard.is_held());
        Ok(guard)
    }
}

async fn t01_lost_reply_of_a_try_acquire(program: Program) -> Outcome {
    let line = Line::new(&program).await?;
    let mut last = 0;
    for _ in 0..RACES {
        let acquire = async {
            let guard = line.locker.try_acquire("a").await?;
            guard.ok_or_else(dlock::Error::contended)
        };
        let guard = line.lose_reply(&line.last()?, acquire).await?;
        assert!(guard.token().get() > last);
        last = guard.token().get();
        guard.release().await?;
    }
    until_clean(&line.node).await
}

async fn t01_lost_reply_of_a_waiting_acquire(program: Program) -> Outcome {
    let line = Line::new(&program).await?;
    for _ in 0..RACES {
        let last = line.last()?;
        let guard = line.lose_reply(&last, line.locker.acquire("a")).await?;
        guard.release().await?;
    }
    until_clean(&line.node).await
}

async fn t01_lost_reply_of_a_waiter_that_was_woken(program: Program) -> Outcome {
    let line = Line::new(&program).await?;
    let other = connect(line.node.address(), "").await?;
    for _ in 0..10 {
        let held = take(&other, "a").await?;
        // Its connection for requests; that for wake-ups comes after it.
        let requests = line.last()?;
        let waiter = tokio::spawn(line.locker.acquire("a").into_future());
        until_listeners(&line.node, "a", 1).await?;
        // The waiter may be asking for the second time just now.
        let asked = async || {
            Ok(value(&line.node, "a")
                .await?
                .is_some_and(|v| v.ends_with('\n')))
        };
        until("it has asked", asked).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
        requests.set(ToClient, Fault::CutInstead);
        held.release().await?;
        let guard = soon("the waiter is granted", waiter).await???;
        assert!(requests.has_ended(), "nothing was lost");
        let found = value(&line.node, "a").await?.unwrap_or_default();
        assert!(found.starts_with(&format!("{} {} ", guard.id(), guard.token())));
        guard.release().await?;
        // The next round's newest connection is that for requests again.
        until_clean(&line.node).await?;
    }
    Ok(())
}

async fn t01_no_reply_ever_to_a_try_acquire_is_undone(program: Program) -> Outcome {
    let line = Line::new(&program).await?;
    for _ in 0..5 {
        let last = line.last()?;
        line.proxy.set(ToClient, Fault::CutInstead);
        let heal = async {
            last.until_ended().await;
            assert!(value(&line.node, "a").await?.is_some(), "it was granted");
            // Long enough that it has given up trying.
            line.proxy.connection(line.proxy.accepted() + 5).await;
            line.proxy.set(ToClient, Fault::None);
            Outcome::Ok(())
        };
        let both = async { tokio::join!(line.locker.try_acquire("a"), heal) };
        let (answer, healed) = soon("it ends", both).await?;
        healed?;
        let error = refused(answer)?;
        assert_eq!(
            (error.kind(), error.effect()),
            (ErrorKind::Unavailable, Effect::Unknown)
        );
        assert_eq!(locks(&line.node).await?, [""; 0], "it is undone by now");
        warm_up(&line.locker).await?;
    }
    Ok(())
}

async fn t01_no_reply_ever_to_a_waiting_acquire_is_undone(program: Program) -> Outcome {
    let line = Line::new(&program).await?;
    for _ in 0..5 {
        let last = line.last()?;
        line.proxy.set(ToClient, Fault::CutInstead);
        let wait = line.locker.acquire("a").wait(Duration::from_millis(300));
        let error = refused(soon("the wait ends", wait).await?)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(last.has_ended() && value(&line.node, "a").await?.is_some());
        line.proxy.set(ToClient, Fault::None);
        until_clean(&line.node).await?;
        warm_up(&line.locker).await?;
    }
    Ok(())
}

async fn t03_lost_reply_of_a_release(program: Program) -> Outcome {
    let line = Line::new(&program).await?;
    for _ in 0..RACES {
        let guard = take(&line.locker, "a").await?;
        let last = line.last()?;
        last.set(ToClient, Fault::CutInstead);
        if let Err(error) = soon("the release ends", guard.release()).await? {
            // It goes on in the background.
            assert_eq!(error.effect(), Effect::Unknown, "{error}");
        }
        assert!(last.has_ended());
        assert_eq!(locks(&line.node).await?, [""; 0], "it had been released");
        warm_up(&line.locker).await?;
    }
    Ok(())
}

async fn t03_a_repeated_release_spares_the_successor(program: Program) -> Outcome {
    let line = Line::new(&program).await?;
    let other = connect(line.node.address(), "").await?;
    for _ in 0..10 {
        let locker = connect(line.proxy.address(), "").await?;
        let guard = take(&locker, "a").await?;
        let (last, next) = (line.last()?, line.proxy.accepted());
        line.proxy.set_next(Faults::both(Fault::Hold));
        last.set(ToClient, Fault::CutInstead);
        let release = tokio::spawn(guard.release());
        soon("the first release is done", last.until_ended()).await?;
        let successor = take(&other, "a").await?;
        let again = soon("it is repeated", line.proxy.connection(next)).await?;
        again.set_both(Fault::None);
        let _ = soon("the release ends", release).await??;
        // Ends after everything that it has to release is confirmed.
        locker.shutdown(SOON).await?;
        successor.renew().await?;
        successor.release().await?;
    }
    Ok(())
}

async fn t03_lost_reply_of_a_renewal(program: Program) -> Outcome {
    let line = Line::new(&program).await?;
    for _ in 0..RACES {
        let guard = take(&line.locker, "a").await?;
        let before = guard.remaining();
        line.last()?.set(ToClient, Fault::CutInstead);
        let error = refused(guard.renew().await)?;
        assert_eq!(error.effect(), Effect::Unknown, "{error}");
        assert!(guard.is_held() && guard.remaining() < before, "K3: unknown");
        guard.renew().await?;
        guard.release().await?;
    }
    until_clean(&line.node).await
}
