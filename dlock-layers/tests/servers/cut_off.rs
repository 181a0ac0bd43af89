//! A client that is cut off from a majority of the servers (T83).

use std::time::Duration;

use dlock::ErrorKind;
use dlock_servers::Program;
use dlock_verify::proxy::{
    Direction::{self, ToClient, ToServer},
    Fault,
};

use crate::{
    program::Proxied,
    servers::Servers,
    support::{LATE, Outcome, SOON, cases, refused, soon, taken_over},
};

cases![
    t83_a_client_that_is_cut_off_loses_its_lock_at_the_deadline,
    t83_requests_that_vanish_are_a_loss_at_the_deadline,
    t83_replies_that_vanish_are_a_loss_at_the_deadline,
];

const TTL: Duration = Duration::from_secs(2);

/// Cuts a holder off from the last two of three servers: another client gets the lock after the holder's end.
async fn cut_off(program: &Program, directions: &[Direction]) -> Outcome {
    let servers = Servers::start(program, 3).await?;
    let keys = "restart_guard=0s&ttl=2s&timeout=500ms&connect_timeout=500ms";
    let holder = Proxied::connect(&servers.0, keys).await?;
    let other = servers.connect(keys).await?;
    let held = holder.locker.acquire("a").await?;
    let set = |fault| {
        for proxy in &holder.proxies[1..] {
            for direction in directions {
                proxy.set(*direction, fault);
            }
        }
    };
    set(Fault::Hold);
    let guard = taken_over(&held, &other, TTL, LATE).await?;
    set(Fault::None);
    assert_eq!(refused(held.release().await)?.kind(), ErrorKind::Lost);
    // All that was on its way has come by the time at which the holder's last request is answered.
    soon("it comes to its end", holder.locker.shutdown(SOON)).await??;
    guard.renew().await?;
    guard.release().await?;
    servers.until_clean().await
}

async fn t83_a_client_that_is_cut_off_loses_its_lock_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToServer, ToClient]).await
}

async fn t83_requests_that_vanish_are_a_loss_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToServer]).await
}

/// The servers renew on and on, and the holder does not know: it is not granted twice, but later.
async fn t83_replies_that_vanish_are_a_loss_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToClient]).await
}
