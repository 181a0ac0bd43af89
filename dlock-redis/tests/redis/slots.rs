//! Slots of a Cluster that move, and slots without an owner.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use dlock::ErrorKind;
use dlock_core::Clock;
use dlock_servers::{
    Program,
    redis::{Cluster, Node, Options, Reply},
};
use tokio::task::JoinSet;

use crate::{
    cluster::{GUARD, KEY, NAME, cluster, connect, connect_guarded, guarded, until_listeners},
    support::{Outcome, cases, refused, soon, take, until},
};

cases![
    t11_a_slot_that_moves_under_load_harms_no_client,
    t11_a_waiter_follows_its_slot,
    t11_a_slot_that_moves_to_a_known_master_waits_for_no_guard,
    t11_a_slot_that_moves_during_a_guard_is_reported_by_the_next_renewal,
    t11_nodes_without_names_of_their_own_are_followed,
    t11_a_slot_that_had_no_owner_is_found_when_it_has_one,
    t11_a_record_whose_slot_is_on_its_way_hinders_no_other_name,
    t11_a_redirection_to_a_node_that_redirects_is_followed,
];

/// Begins to move the slot of [`KEY`] from one node to another, as an administrator does.
struct Move<'a> {
    cluster: &'a Cluster,
    source: &'a Node,
    target: &'a Node,
    slot: String,
    target_id: String,
}

impl<'a> Move<'a> {
    /// Begins the move: from now on, the keys may be at either node.
    async fn begin(cluster: &'a Cluster, from: usize, to: usize) -> Outcome<Self> {
        let slot = slot(&cluster.nodes()[from]).await?;
        Self::begin_with(cluster, from, to, slot).await
    }

    /// Begins to move the given slot.
    async fn begin_with(
        cluster: &'a Cluster,
        from: usize,
        to: usize,
        slot: String,
    ) -> Outcome<Self> {
        let (source, target) = (&cluster.nodes()[from], &cluster.nodes()[to]);
        let source_id = source.command(&["CLUSTER", "MYID"]).await?.text()?;
        let target_id = target.command(&["CLUSTER", "MYID"]).await?.text()?;
        let set_slot = ["CLUSTER", "SETSLOT", &slot];
        let importing = [&set_slot[..], &["IMPORTING", &source_id]].concat();
        target.command(&importing).await?;
        let migrating = [&set_slot[..], &["MIGRATING", &target_id]].concat();
        source.command(&migrating).await?;
        Ok(Self {
            cluster,
            source,
            target,
            slot,
            target_id,
        })
    }

    /// Moves its keys, one by one.
    async fn keys(&self) -> Outcome {
        let port = self.target.address().port().to_string();
        loop {
            let some = ["CLUSTER", "GETKEYSINSLOT", &self.slot, "100"];
            let keys = self.source.command(&some).await?.array()?;
            if keys.is_empty() {
                return Ok(());
            }
            for key in keys {
                let key = key.text()?;
                let migrate = ["MIGRATE", "127.0.0.1", &port, &key, "0", "5000"];
                self.source.command(&migrate).await?;
            }
        }
    }

    async fn end(self) -> Outcome {
        let done = ["CLUSTER", "SETSLOT", &self.slot, "NODE", &self.target_id];
        // The target first: no client is redirected to a node that does not know yet.
        self.target.command(&done).await?;
        self.source.command(&done).await?;
        for node in self.cluster.nodes() {
            // Other nodes learn it by gossip; this command makes it immediate.
            let _ = node.command(&done).await;
        }
        Ok(())
    }
}

/// The administrator has begun the move at the source alone, so each of the two nodes redirects to the other. The name
/// is new: its slot has no keys.
async fn t11_a_redirection_to_a_node_that_redirects_is_followed(program: Program) -> Outcome {
    const NEW: &str = "new";
    let cluster = cluster(&program).await?;
    let locker = connect(&cluster, "").await?;
    let from = cluster.owner_of("dlock:new").await?;
    let (source, target) = (&cluster.nodes()[from], &cluster.nodes()[(from + 1) % 3]);
    let slot = source.command(&["CLUSTER", "KEYSLOT", "dlock:new"]);
    let slot = slot.await?.int()?.to_string();
    let id = target.command(&["CLUSTER", "MYID"]).await?.text()?;
    let set_slot = ["CLUSTER", "SETSLOT", &slot];
    let migrating = [&set_slot[..], &["MIGRATING", &id]].concat();
    source.command(&migrating).await?;
    let error = refused(locker.try_acquire(NEW).await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        error.to_string().contains("disagree on the owner"),
        "{error}"
    );
    let stable = [&set_slot[..], &["STABLE"]].concat();
    source.command(&stable).await?;
    Ok(take(&locker, NEW).await?.release().await?)
}

async fn slot(node: &Node) -> Outcome<String> {
    Ok(node
        .command(&["CLUSTER", "KEYSLOT", KEY])
        .await?
        .int()?
        .to_string())
}

async fn move_slot(cluster: &Cluster, to: usize) -> Outcome {
    // After a move it takes a moment until all agree.
    let from = cluster.until_owner_of(KEY, to).await?;
    let moving = Move::begin(cluster, from, to).await?;
    moving.keys().await?;
    moving.end().await
}

async fn t11_a_slot_that_moves_under_load_harms_no_client(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let inside = Arc::new(AtomicUsize::new(0));
    let grants = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..4 {
        let locker = connect(&cluster, "").await?;
        let (stop, inside, grants) = (stop.clone(), inside.clone(), grants.clone());
        tasks.spawn(async move {
            let mut tokens = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let guard = locker.acquire(NAME).await?;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
                tokens.push(guard.token());
                grants.fetch_add(1, Ordering::SeqCst);
                guard.renew().await?;
                inside.fetch_sub(1, Ordering::SeqCst);
                guard.release().await?;
            }
            Outcome::Ok(tokens)
        });
    }
    let home = cluster.owner_of(KEY).await?;
    for round in 0..20 {
        move_slot(&cluster, (home + 1 + round) % 3).await?;
        let before = grants.load(Ordering::SeqCst);
        until("it is granted where it is now", async || {
            Ok(grants.load(Ordering::SeqCst) > before)
        })
        .await?;
    }
    stop.store(true, Ordering::Relaxed);
    let mut tokens = Vec::new();
    while let Some(given) = soon("it ends", tasks.join_next()).await? {
        let given = given??;
        assert!(given.windows(2).all(|pair| pair[0] < pair[1]));
        tokens.extend(given);
    }
    let count = tokens.len();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), count, "a token was given twice");
    Ok(())
}

async fn t11_a_slot_that_moves_to_a_known_master_waits_for_no_guard(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let locker = guarded(&cluster).await?;
    let mut last = take(&locker, NAME).await?;
    for _ in 0..4 {
        let home = cluster.owner_of(KEY).await?;
        move_slot(&cluster, (home + 1) % 3).await?;
        until("it has moved for all", async || {
            Ok(last.renew().await.is_ok())
        })
        .await?;
        let token = last.token();
        last.release().await?;
        last = take(&locker, NAME).await?;
        assert!(last.token() > token);
    }
    Ok(last.release().await?)
}

/// The window of `redis.slot-moved`: its master was replaced by a replica that lacks a lock, and the slot
/// leaves while grants wait for the guard. Two hold it, and the older one knows within a third of the ttl.
async fn t11_a_slot_that_moves_during_a_guard_is_reported_by_the_next_renewal(
    program: Program,
) -> Outcome {
    let mut cluster = cluster(&program).await?;
    let holder = guarded(&cluster).await?;
    let home = cluster.owner_of(KEY).await?;
    let replica = home + 3;
    // The replica never gets the lock: what is on its way to a stopped one would be read later.
    cluster.nodes()[replica].stop()?;
    cluster.nodes()[home]
        .command(&["CLIENT", "KILL", "TYPE", "replica"])
        .await?;
    let held = take(&holder, NAME).await?;
    cluster.nodes_mut()[home].kill()?;
    cluster.nodes()[replica].cont()?;
    until("it has taken over", async || {
        let takeover = ["CLUSTER", "FAILOVER", "TAKEOVER"];
        let _ = cluster.nodes()[replica].command(&takeover).await;
        Ok(cluster
            .owner_of(KEY)
            .await
            .is_ok_and(|owner| owner == replica))
    })
    .await?;
    let begun = Clock::boottime().now();
    move_slot(&cluster, (home + 1) % 3).await?;
    let other = connect_guarded(&cluster).await?;
    let next = soon("it is granted where it is now", other.acquire(NAME)).await??;
    assert!(next.token() > held.token());
    soon("the holder is notified", held.lost()).await?;
    let notified = Clock::boottime().now().since(begun);
    assert!(notified < GUARD, "notified after {notified:?}");
    Ok(next.release().await?)
}

async fn t11_a_waiter_follows_its_slot(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let (holder, other) = (connect(&cluster, "").await?, connect(&cluster, "").await?);
    let held = take(&holder, NAME).await?;
    let home = cluster.owner_of(KEY).await?;
    let waiter = tokio::spawn(other.acquire(NAME).into_future());
    until_listeners(&cluster.nodes()[home], 1).await?;
    let new = (home + 1) % 3;
    move_slot(&cluster, new).await?;
    until_listeners(&cluster.nodes()[new], 1).await?;
    held.release().await?;
    soon("it is woken", waiter).await???.release().await?;
    until_listeners(&cluster.nodes()[new], 0).await
}

async fn start(program: &Program, line: &str) -> Outcome<Cluster> {
    let options = Options {
        lines: vec![line.to_owned()],
        ..Options::default()
    };
    Ok(Cluster::start(program, &options).await?)
}

/// Nameless nodes redirect by a port alone: the host is that of the node that got the request.
async fn t11_nodes_without_names_of_their_own_are_followed(program: Program) -> Outcome {
    let nameless = "cluster-preferred-endpoint-type unknown-endpoint";
    let cluster = start(&program, nameless).await?;
    let locker = connect(&cluster, "").await?;
    let home = cluster.owner_of(KEY).await?;
    let held = take(&locker, NAME).await?;
    let moving = Move::begin(&cluster, home, (home + 1) % 3).await?;
    moving.keys().await?;
    let sent = moving.source.command(&["GET", KEY]).await;
    let sent = refused_by_node(sent)?;
    assert!(
        sent.contains("ASK ") && !sent.contains("127.0.0.1"),
        "{sent}"
    );
    held.renew().await?;
    moving.end().await?;
    held.renew().await?;
    held.release().await?;
    Ok(take(&locker, NAME).await?.release().await?)
}

fn refused_by_node<T>(answer: std::io::Result<T>) -> Outcome<String> {
    let error = answer.err().ok_or("it answered")?;
    Ok(error.to_string())
}

async fn t11_a_slot_that_had_no_owner_is_found_when_it_has_one(program: Program) -> Outcome {
    let cluster = start(&program, "cluster-require-full-coverage no").await?;
    let home = cluster.owner_of(KEY).await?;
    let home = &cluster.nodes()[home];
    let slot = slot(home).await?;
    for node in cluster.nodes() {
        // A replica does not have it by itself.
        let _ = node.command(&["CLUSTER", "DELSLOTS", &slot]).await;
    }
    let locker = connect(&cluster, "").await?;
    let error = refused(locker.try_acquire(NAME).await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let waiter = tokio::spawn(locker.acquire(NAME).into_future());
    home.command(&["CLUSTER", "ADDSLOTS", &slot]).await?;
    soon("it is found", waiter).await???.release().await?;
    Ok(take(&locker, NAME).await?.release().await?)
}

/// The record is in the first slot of each master, unless that one is about to leave.
async fn t11_a_record_whose_slot_is_on_its_way_hinders_no_other_name(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let home = cluster.owner_of(KEY).await?;
    let slots = cluster.nodes()[home].command(&["CLUSTER", "SLOTS"]).await?;
    let address = cluster.nodes()[home].address();
    let first = first_slot(slots, address.port())?;
    let moving = Move::begin_with(&cluster, home, (home + 1) % 3, first).await?;
    let locker = connect(&cluster, "").await?;
    let guard = take(&locker, NAME).await?;
    guard.renew().await?;
    guard.release().await?;
    moving.end().await?;
    take(&locker, NAME).await?.release().await?;
    Ok(())
}

/// The first slot of the master with this port, by the answer to `CLUSTER SLOTS`.
fn first_slot(slots: Reply, port: u16) -> Outcome<String> {
    for range in slots.array()? {
        let mut range = range.array()?.into_iter();
        let first = range.next().ok_or("no slot")?.int()?;
        let mut master = range.nth(1).ok_or("no master")?.array()?.into_iter();
        if master.nth(1).ok_or("no port")?.int()? == i64::from(port) {
            return Ok(first.to_string());
        }
    }
    Err("it has no slot".into())
}
