//! Nodes that cannot be opened at first.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{Error, ErrorKind, Result, memory::Memory};
use dlock_layers::quorum::{Node, QuorumLock, QuorumOptions};

use crate::support::{Nodes, TTL, program_of, refused};

/// A node that can be opened while `is_up`.
fn node(store: &Memory, is_up: &Arc<AtomicBool>) -> Node {
    let (store, is_up) = (store.clone(), is_up.clone());
    Node::opened_by(move || {
        let (store, is_up) = (store.clone(), is_up.clone());
        Box::pin(async move {
            if is_up.load(Ordering::SeqCst) {
                return Ok(Box::new(store) as _);
            }
            Err(Error::new(ErrorKind::Unavailable, "connection refused"))
        })
    })
}

#[tokio::test(start_paused = true)]
async fn enough_nodes_open_a_quorum_and_the_others_come_later() -> Result<()> {
    let nodes = Nodes::new(3);
    let (up, down) = (Arc::new(true.into()), Arc::new(AtomicBool::new(false)));
    let all = [
        node(&nodes.0[0], &down),
        node(&nodes.0[1], &up),
        node(&nodes.0[2], &up),
    ];
    let locks = program_of(all, &QuorumOptions::new()).await?;
    let guard = locks.acquire("a").await?;
    assert_eq!(nodes.used(), 2);
    down.store(true, Ordering::SeqCst);
    // It is opened within a second, and takes part from a renewal on.
    tokio::time::sleep(TTL).await;
    assert_eq!(nodes.used(), 3);
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_panics_while_it_is_opened_is_one_that_is_down() -> Result<()> {
    let nodes = Nodes::new(3);
    let (up, down) = (Arc::new(true.into()), Arc::new(false.into()));
    let panicking = || {
        [
            Node::opened_by(|| Box::pin(async { panic!("a defect of the store") })),
            Node::opened_by(|| panic!("before its first await")),
        ]
    };
    for defect in panicking() {
        let all = [defect, node(&nodes.0[1], &up), node(&nodes.0[2], &up)];
        let locks = program_of(all, &QuorumOptions::new()).await?;
        locks.acquire("a").await?.release().await?;
    }
    for defect in panicking() {
        let all = [defect, node(&nodes.0[1], &up), node(&nodes.0[2], &down)];
        let opened = QuorumLock::open(all, &QuorumOptions::new()).await;
        refused(opened, "1 of 3 nodes can be reached");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn too_few_nodes_open_no_quorum() -> Result<()> {
    let nodes = Nodes::new(3);
    let (up, down) = (Arc::new(true.into()), Arc::new(false.into()));
    let all = [
        node(&nodes.0[0], &down),
        node(&nodes.0[1], &up),
        node(&nodes.0[2], &down),
    ];
    let opened = QuorumLock::open(all, &QuorumOptions::new()).await;
    let text = "1 of 3 nodes can be reached, 2 are needed; not reached: node 1, node 3; node 1: connection refused";
    assert_eq!(refused(opened, text), ErrorKind::Unavailable);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_hangs_does_not_delay_the_others_for_long() -> Result<()> {
    let nodes = Nodes::new(3);
    let hanging = Node::opened_by(|| Box::pin(std::future::pending()));
    let up = Arc::new(true.into());
    let all = [hanging, node(&nodes.0[1], &up), node(&nodes.0[2], &up)];
    let options = QuorumOptions::new();
    let opening = program_of(all, &options);
    let locks = tokio::time::timeout(Duration::from_secs(1), opening).await;
    let locks = locks.expect("in time")?;
    locks.acquire("a").await?.release().await?;
    locks.shutdown(Duration::from_secs(1)).await?;
    Ok(())
}
