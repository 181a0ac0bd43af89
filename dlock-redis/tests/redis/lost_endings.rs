//! A release or a renewal of which the request or the reply is lost (T3).

use std::time::Duration;

use dlock::{Effect, ErrorKind};
use dlock_servers::Program;
use dlock_verify::proxy::{Direction::ToClient, Fault, Faults};

use crate::{
    proxied_client::ProxiedClient,
    support::{
        Outcome, RACES, SOON, cases, connect, locks, refused, soon, take, until_clean, warm_up,
    },
};

cases![
    t03_lost_request_of_a_release,
    t03_lost_request_of_a_renewal,
    t03_lost_reply_of_a_release,
    t03_a_repeated_release_spares_the_successor,
    t03_lost_reply_of_a_renewal,
    t03_no_reply_ever_to_a_renewal_is_unknown,
];

async fn t03_lost_request_of_a_release(program: Program) -> Outcome {
    let proxied = ProxiedClient::new(&program).await?;
    for _ in 0..RACES {
        let guard = take(&proxied.locker, "a").await?;
        let last = proxied.lose_request()?;
        soon("the release ends", guard.release()).await??;
        assert!(last.has_ended());
        assert_eq!(
            locks(&proxied.node).await?,
            [""; 0],
            "it was made once more"
        );
    }
    Ok(())
}

async fn t03_lost_request_of_a_renewal(program: Program) -> Outcome {
    let proxied = ProxiedClient::new(&program).await?;
    for _ in 0..RACES {
        let guard = take(&proxied.locker, "a").await?;
        proxied
            .node
            .command(&["PEXPIRE", "dlock:a", "10000"])
            .await?;
        let last = proxied.lose_request()?;
        soon("the renewal ends", guard.renew()).await??;
        assert!(last.has_ended() && guard.is_held());
        let left = proxied.node.command(&["PTTL", "dlock:a"]).await?.int()?;
        assert!(left > 10_000, "{left} ms are left");
        guard.release().await?;
    }
    Ok(())
}

async fn t03_lost_reply_of_a_release(program: Program) -> Outcome {
    let proxied = ProxiedClient::new(&program).await?;
    for _ in 0..RACES {
        let guard = take(&proxied.locker, "a").await?;
        let last = proxied.last()?;
        last.set(ToClient, Fault::CutInstead);
        if let Err(error) = soon("the release ends", guard.release()).await? {
            // It goes on in the background.
            assert_eq!(error.effect(), Effect::Unknown, "{error}");
        }
        assert!(last.has_ended());
        assert_eq!(locks(&proxied.node).await?, [""; 0], "it had been released");
        warm_up(&proxied.locker).await?;
    }
    Ok(())
}

async fn t03_a_repeated_release_spares_the_successor(program: Program) -> Outcome {
    let proxied = ProxiedClient::new(&program).await?;
    let other = connect(proxied.node.address(), "").await?;
    for _ in 0..RACES {
        let locker = connect(proxied.proxy.address(), "").await?;
        let guard = take(&locker, "a").await?;
        let (last, next) = (proxied.last()?, proxied.proxy.accepted());
        proxied.proxy.set_next(Faults::both(Fault::Hold));
        last.set(ToClient, Fault::CutInstead);
        let release = tokio::spawn(guard.release());
        soon("the first release is done", last.until_ended()).await?;
        let successor = take(&other, "a").await?;
        let again = soon("it is repeated", proxied.proxy.connection(next)).await?;
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
    // Connecting again takes longer than this.
    const LATE: Duration = Duration::from_millis(20);
    let proxied = ProxiedClient::new(&program).await?;
    let ttl = Duration::from_secs(60);
    for _ in 0..RACES {
        let guard = proxied.locker.acquire("a").ttl(ttl).await?;
        let token = guard.token();
        let last = proxied.last()?;
        proxied.proxy.set_next(Faults {
            to_client: Fault::Delay(LATE),
            ..Faults::default()
        });
        last.set(ToClient, Fault::CutInstead);
        // It is made once more on a new connection, and counts from before the first time (K2).
        guard.renew().await?;
        let left = guard.remaining();
        assert!(last.has_ended(), "nothing was lost");
        assert!(left < ttl - ttl / 100 - LATE, "{left:?} are left");
        assert!(guard.is_held() && guard.token() == token);
        guard.release().await?;
    }
    until_clean(&proxied.node).await
}

async fn t03_no_reply_ever_to_a_renewal_is_unknown(program: Program) -> Outcome {
    let proxied = ProxiedClient::new(&program).await?;
    for _ in 0..10 {
        let guard = take(&proxied.locker, "a").await?;
        let before = guard.remaining();
        let last = proxied.last()?;
        proxied.proxy.set(ToClient, Fault::CutInstead);
        let error = refused(guard.renew().await)?;
        assert_eq!(
            (error.kind(), error.effect()),
            (ErrorKind::Unavailable, Effect::Unknown),
            "{error}"
        );
        assert!(last.has_ended(), "nothing was lost");
        assert!(
            guard.is_held() && guard.remaining() < before,
            "K3: the old deadline"
        );
        proxied.proxy.set(ToClient, Fault::None);
        guard.renew().await?;
        assert!(guard.remaining() > before - Duration::from_secs(1));
        guard.release().await?;
    }
    until_clean(&proxied.node).await
}
