//! Nodes that are down, silent, slow or forget.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Locker, Result,
    memory::{Fault, Operation},
};
use dlock_layers::quorum::{Node, QuorumOptions};

use crate::support::{Delayed, Nodes, Process, TTL, Waiting, program_of, refused, time_of};

#[tokio::test(start_paused = true)]
async fn a_minority_of_nodes_may_be_down() -> Result<()> {
    for fault in [
        Fault::LoseRequest,
        Fault::Stall,
        Fault::Deny,
        Fault::LoseReply,
    ] {
        let nodes = Nodes::new(5);
        let (one, other) = (nodes.program().await?, nodes.program().await?);
        nodes.fail(0, fault);
        nodes.fail(3, fault);
        let guard = one.acquire("a").await?;
        assert!(other.try_acquire("a").await?.is_none());
        tokio::time::sleep(TTL * 3).await;
        assert!(guard.is_held());
        assert!(other.try_acquire("a").await?.is_none());
        let (took, released) = time_of(guard.release()).await;
        released?;
        assert!(took <= QuorumOptions::NODE_TIMEOUT, "{took:?}");
        other.acquire("a").await?.release().await?;
        nodes.back(0);
        nodes.back(3);
        tokio::time::sleep(TTL * 2).await;
        assert_eq!(nodes.used(), 0, "{fault:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_until_enough_nodes_are_back() -> Result<()> {
    for fault in [Fault::LoseRequest, Fault::Stall] {
        let nodes = Nodes::new(3);
        let locks = nodes.program().await?;
        nodes.fail(0, fault);
        nodes.fail(1, fault);
        let waiting = Waiting::start(&locks);
        tokio::time::sleep(Duration::from_secs(5)).await;
        nodes.back(0);
        let (took, guard) = time_of(waiting.granted()).await;
        assert!(took < Duration::from_secs(3), "{took:?}");
        guard?.release().await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_silent_node_costs_one_time_out_and_no_second_one() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    nodes.silent(1);
    let cycle = || async { locks.acquire("a").await?.release().await };
    let (took, cycled) = time_of(cycle()).await;
    cycled?;
    assert!(took >= QuorumOptions::NODE_TIMEOUT, "{took:?}");
    // For as long as it is silent, also when it is the probe.
    for _ in 0..50 {
        let (took, cycled) = time_of(cycle()).await;
        cycled?;
        assert!(took < Duration::from_millis(10), "{took:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // It takes part again soon after it is back.
    nodes.back(1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    cycle().await?;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let guard = locks.acquire("a").await?;
    assert_eq!(nodes.used(), 3);
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

/// A client gives up its connection to a silent server, and has errors until it is replaced by one that is silent, too.
#[tokio::test(start_paused = true)]
async fn an_error_of_a_silent_node_does_not_cost_another_time_out() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    let cycle = || async { locks.acquire("a").await?.release().await };
    nodes.silent(1);
    cycle().await?;
    nodes.back(1);
    nodes.down(1);
    for _ in 0..3 {
        // The first acquire after a second probes it.
        tokio::time::sleep(Duration::from_secs(1)).await;
        cycle().await?;
    }
    nodes.back(1);
    nodes.silent(1);
    let (took, cycled) = time_of(cycle()).await;
    cycled?;
    assert!(took < Duration::from_millis(10), "{took:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_forgets_takes_part_again_from_the_next_renewal_on() -> Result<()> {
    let nodes = Nodes::new(3);
    let (one, other) = (nodes.program().await?, nodes.program().await?);
    let guard = one.acquire("a").await?;
    // Each node forgets it in turn: with one renewal in between there are always two left.
    for node in [0, 1, 2, 0, 1, 2] {
        nodes.forgets(node);
        assert_eq!(nodes.used(), 2);
        guard.renew().await?;
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(nodes.used(), 3);
        assert!(other.try_acquire("a").await?.is_none());
    }
    let holder = one.inspect("a").await?.expect("a holder");
    assert!(holder.token >= Some(guard.token()), "{holder:?}");
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_down_at_the_grant_takes_part_later() -> Result<()> {
    for fault in [Fault::LoseRequest, Fault::Stall, Fault::LoseReply] {
        let nodes = Nodes::new(3);
        let locks = nodes.program().await?;
        nodes.fail(2, fault);
        let guard = locks.acquire("a").await?;
        nodes.back(2);
        // What may be left of the first request there ends before.
        tokio::time::sleep(TTL * 2).await;
        assert!(guard.is_held());
        nodes.down(0);
        tokio::time::sleep(TTL * 2).await;
        assert!(guard.is_held(), "{fault:?}");
        nodes.back(0);
        guard.release().await?;
        tokio::time::sleep(TTL * 2).await;
        assert_eq!(nodes.used(), 0);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_late_is_released() -> Result<()> {
    let nodes = Nodes::new(3);
    let late = Delayed {
        store: nodes.0[2].clone(),
        requests: Duration::ZERO,
        replies: Duration::from_secs(2),
    };
    let all = [
        Node::new(nodes.0[0].clone()),
        Node::new(nodes.0[1].clone()),
        Node::new(late),
    ];
    let locks = program_of(all, &QuorumOptions::new()).await?;
    let guard = locks.acquire("a").await?;
    assert_eq!(
        nodes.used(),
        3,
        "the third one has granted it without a reply"
    );
    guard.release().await?;
    assert_eq!(nodes.used(), 1);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(nodes.used(), 0);
    // Also while the lock is held. A renewal would request it again.
    let guard = locks.acquire("a").no_renewal().await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(nodes.0[2].names().is_empty());
    guard.release().await?;
    Ok(())
}

/// Three nodes, of which the third one executes an acquire so much later than it was sent, as a server that was stopped
/// goes on with what it had received. The lock was released before.
async fn with_a_late_grant(after: Duration) -> Result<(Nodes, Locker)> {
    let nodes = Nodes::new(3);
    let late = Delayed {
        store: nodes.0[2].clone(),
        requests: after,
        replies: Duration::ZERO,
    };
    let all = [
        Node::new(nodes.0[0].clone()),
        Node::new(nodes.0[1].clone()),
        Node::new(late),
    ];
    let locks = program_of(all, &QuorumOptions::new()).await?;
    let guard = locks.acquire("a").no_renewal().await?;
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok((nodes, locks))
}

/// The late grant was one.
async fn assert_granted(nodes: &Nodes) -> Result<()> {
    let alone = Locker::builder(nodes.0[2].clone()).build()?;
    let token = alone.acquire("a").await?.token();
    assert_eq!(token.get(), 2, "the first one was that of the late grant");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_after_its_release_was_given_up_is_released() -> Result<()> {
    let (nodes, _locks) = with_a_late_grant(TTL * 2).await?;
    tokio::time::sleep(TTL * 2).await;
    assert_eq!(nodes.used(), 0);
    assert_granted(&nodes).await
}

/// The grant is 50 ms before the end of the time in which one is expected, and its node is down for a second then.
#[tokio::test(start_paused = true)]
async fn a_release_has_its_whole_time_from_a_late_grant_on() -> Result<()> {
    let (nodes, _locks) = with_a_late_grant(TTL + Duration::from_secs(1)).await?;
    nodes.0[2].inject(Operation::Release, Fault::LoseRequest);
    tokio::time::sleep(TTL + Duration::from_secs(2)).await;
    assert_eq!(nodes.used(), 1);
    nodes.back(2);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(nodes.used(), 0);
    assert_granted(&nodes).await
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_a_late_grant_and_its_release() -> Result<()> {
    let (nodes, locks) = with_a_late_grant(Duration::from_secs(7)).await?;
    // Its release is not confirmed before this.
    let back_after = Duration::from_secs(9);
    nodes.0[2].inject(Operation::Release, Fault::LoseRequest);
    let node = nodes.0[2].clone();
    tokio::spawn(async move {
        tokio::time::sleep(back_after).await;
        node.clear_faults();
    });
    let (took, ended) = time_of(locks.shutdown(back_after * 2)).await;
    ended?;
    assert!(took >= back_after, "{took:?}");
    assert_eq!(nodes.used(), 0);
    assert_granted(&nodes).await
}

#[tokio::test(start_paused = true)]
async fn too_few_grants_are_given_back() -> Result<()> {
    let nodes = Nodes::new(5);
    let locks = nodes.program().await?;
    for node in [0, 2, 4] {
        nodes.down(node);
    }
    let none = locks.try_acquire("a").await;
    let text = "2 of 5 nodes answered, 3 are needed: node 1: ";
    assert_eq!(refused(none, text), ErrorKind::Unavailable);
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_error_that_no_wait_ends_is_returned() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    nodes.fail(0, Fault::Deny);
    nodes.fail(1, Fault::Deny);
    let denied = locks.acquire("a").wait_forever().await;
    assert_eq!(refused(denied, "refuses"), ErrorKind::Denied);
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_silent_is_used_if_the_others_are_too_few() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    nodes.silent(0);
    locks.acquire("a").await?.release().await?;
    // It is still passed over.
    nodes.back(0);
    nodes.down(1);
    let Some(guard) = locks.try_acquire("a").await? else {
        panic!("two nodes are up")
    };
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn nodes_without_an_end_do_not_keep_the_others_from_being_renewed() -> Result<()> {
    let nodes = Nodes::new(3);
    let all = [
        Node::new(Process(nodes.0[0].clone())),
        Node::new(Process(nodes.0[1].clone())),
        Node::new(nodes.0[2].clone()),
    ];
    let locks = program_of(all, &QuorumOptions::new()).await?;
    let guard = locks.acquire("a").await?;
    assert!(guard.remaining() <= TTL, "{:?}", guard.remaining());
    nodes.forgets(2);
    tokio::time::sleep(TTL).await;
    assert_eq!(nodes.used(), 3);
    assert!(guard.is_held());
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_slower_than_the_others_takes_part_again() -> Result<()> {
    let nodes = Nodes::new(3);
    let late = Delayed {
        store: nodes.0[2].clone(),
        requests: Duration::ZERO,
        replies: Duration::from_millis(5),
    };
    let all = [
        Node::new(nodes.0[0].clone()),
        Node::new(nodes.0[1].clone()),
        Node::new(late),
    ];
    let locks = program_of(all, &QuorumOptions::new()).await?;
    nodes.silent(2);
    locks.acquire("a").await?.release().await?;
    nodes.back(2);
    tokio::time::sleep(Duration::from_secs(1)).await;
    // This one is the probe.
    locks.acquire("a").await?.release().await?;
    tokio::time::sleep(Duration::from_millis(10)).await;
    let guard = locks.acquire("a").await?;
    assert_eq!(nodes.used(), 3);
    guard.release().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lock_whose_other_nodes_are_down_is_not_free() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    nodes.down(2);
    let guard = locks.acquire("a").await?;
    nodes.back(2);
    nodes.0[1].inject(Operation::Inspect, Fault::LoseRequest);
    let found = locks.inspect("a").await;
    assert_eq!(refused(found, "2 of 3 nodes"), ErrorKind::Unavailable);
    nodes.back(1);
    assert!(locks.inspect("a").await?.is_some());
    guard.release().await?;
    Ok(())
}
