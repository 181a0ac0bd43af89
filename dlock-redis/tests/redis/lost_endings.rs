//! A release or a renewal of which the request or the reply is lost (T3).

use std::time::Duration;

use dlock::{Effect, ErrorKind};
use dlock_servers::Program;
use dlock_verify::proxy::{Direction::ToClient, Fault, Faults};

use crate::{
    proxied::Proxied,
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
    let client = Proxied::new(&program).await?;
    for _ in 0..RACES {
        let guard = take(&client.locker, "a").await?;
        let last = client.lose_request()?;
        soon("the release ends", guard.release()).await??;
        assert!(last.has_ended());
        assert_eq!(locks(&client.node).await?, [""; 0], "it was made once more");
    }
    Ok(())
}

async fn t03_lost_request_of_a_renewal(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    for _ in 0..RACES {
        let guard = take(&client.locker, "a").await?;
        client
            .node
            .command(&["PEXPIRE", "dlock:a", "10000"])
            .await?;
        let last = client.lose_request()?;
        soon("the renewal ends", guard.renew()).await??;
        assert!(last.has_ended() && guard.is_held());
        let left = client.node.command(&["PTTL", "dlock:a"]).await?.int()?;
        assert!(left > 10_000, "{left} ms are left");
        guard.release().await?;
    }
    Ok(())
}

async fn t03_lost_reply_of_a_release(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    for _ in 0..RACES {
        let guard = take(&client.locker, "a").await?;
        let last = client.last()?;
        last.set(ToClient, Fault::CutInstead);
        if let Err(error) = soon("the release ends", guard.release()).await? {
            // It goes on in the background.
            assert_eq!(error.effect(), Effect::Unknown, "{error}");
        }
        assert!(last.has_ended());
        assert_eq!(locks(&client.node).await?, [""; 0], "it had been released");
        warm_up(&client.locker).await?;
    }
    Ok(())
}

async fn t03_a_repeated_release_spares_the_successor(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    let other = connect(client.node.address(), "").await?;
    for _ in 0..RACES {
        let locker = connect(client.proxy.address(), "").await?;
        let guard = take(&locker, "a").await?;
        let (last, next) = (client.last()?, client.proxy.accepted());
        client.proxy.set_next(Faults::both(Fault::Hold));
        last.set(ToClient, Fault::CutInstead);
        let release = tokio::spawn(guard.release());
        soon("the first release is done", last.until_ended()).await?;
        let successor = take(&other, "a").await?;
        let again = soon("it is repeated", client.proxy.connection(next)).await?;
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
    let client = Proxied::new(&program).await?;
    let ttl = Duration::from_secs(60);
    for _ in 0..RACES {
        let guard = client.locker.acquire("a").ttl(ttl).await?;
        let token = guard.token();
        let last = client.last()?;
        client.proxy.set_next(Faults {
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
    until_clean(&client.node).await
}

async fn t03_no_reply_ever_to_a_renewal_is_unknown(program: Program) -> Outcome {
    let client = Proxied::new(&program).await?;
    for _ in 0..10 {
        let guard = take(&client.locker, "a").await?;
        let before = guard.remaining();
        let last = client.last()?;
        client.proxy.set(ToClient, Fault::CutInstead);
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
        client.proxy.set(ToClient, Fault::None);
        guard.renew().await?;
        assert!(guard.remaining() > before - Duration::from_secs(1));
        guard.release().await?;
    }
    until_clean(&client.node).await
}
