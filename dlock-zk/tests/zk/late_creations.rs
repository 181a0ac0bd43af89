//! Creations that a server executes late, after it was cut off from its leader (`zk.late`, T42, K9).

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock::{Effect, Guard, Locker};
use dlock_servers::zk::{Ensemble, Java, Node};
use dlock_verify::proxy::{Direction::ToServer, End, Fault, Proxy};
use zookeeper_client::Client;

use crate::support::{
    LONG, Outcome, SOON, cases, changes, connect, driver, quick, refused, soon, take, until,
    until_queue,
};

cases![
    t42_creations_that_come_late_leave_no_second_node,
    t42_creations_that_come_late_leave_nothing_of_a_wait_that_ended,
];

/// Clients that acquire at once, so that some creations are executed late: the leader refuses those that it has begun
/// with before it reads that the client came back. Fewer than the packets that a proxy holds back.
const LATE_NAMES: usize = 32;

/// A client at a follower that keeps its requests for the leader, as `zk.late` has it.
struct Late {
    ensemble: Ensemble,
    leader: usize,
    follower: usize,
    proxy: Proxy,
    /// The server that the client's next connection leads to.
    route: Arc<AtomicUsize>,
    locker: Locker,
    driver: Client,
}

impl Late {
    async fn new(java: &Java) -> Outcome<Self> {
        let mut options = quick();
        // The follower waits for the leader as long as the test needs.
        options.lines.push("syncLimit=50".to_owned());
        let ensemble = Ensemble::start(java, &options).await?;
        let (leader, follower) = (ensemble.leader().await?, ensemble.follower().await?);
        let route = Arc::new(AtomicUsize::new(follower));
        let addresses: Vec<_> = ensemble.nodes().iter().map(Node::address).collect();
        let to = route.clone();
        let proxy = Proxy::switch(move |_| Some(addresses[to.load(Ordering::SeqCst)]))?;
        let locker = connect(proxy.address(), LONG).await?;
        // The directories are there.
        for name in names() {
            take(&locker, &name).await?.release().await?;
        }
        Ok(Self {
            driver: driver(ensemble.nodes()[leader].address()).await?,
            ensemble,
            leader,
            follower,
            proxy,
            route,
            locker,
        })
    }

    fn link(&self) -> &Proxy {
        self.ensemble.link(self.follower, self.leader)
    }

    /// How many clients have come back to the follower, by its log.
    fn came_back(&self) -> Outcome<usize> {
        let follower = &self.ensemble.nodes()[self.follower];
        let log = fs::read_to_string(follower.process().directory().join("log"))?;
        Ok(log.matches("Revalidating client").count())
    }

    /// Acquires all names while the follower keeps the creations, and after them the client's try to come back. Then
    /// the client goes to the leader.
    async fn keep(&self, wait: Duration) -> Outcome<Vec<dlock::Result<Guard>>> {
        /// Of a creation.
        const BYTES_MIN: u64 = 150;
        let link = self.link();
        link.set(ToServer, Fault::Hold);
        let (kept, before) = (link.seen(ToServer), self.came_back()?);
        let connection = self.proxy.connections().pop().ok_or("no connection")?;
        let next = self.proxy.accepted();
        let acquires = names().map(|name| self.locker.acquire(name).wait(wait).into_future());
        let acquires: Vec<_> = acquires.map(tokio::spawn).collect();
        until("the follower keeps the creations", async || {
            Ok(link.seen(ToServer) > kept + LATE_NAMES as u64 * BYTES_MIN)
        })
        .await?;
        connection.end(End::Cut);
        let again = self.proxy.connection(next).await;
        until("the follower keeps the try to come back", async || {
            Ok(self.came_back()? > before)
        })
        .await?;
        self.route.store(self.leader, Ordering::SeqCst);
        again.end(End::Cut);
        let mut results = Vec::new();
        for acquire in acquires {
            results.push(soon("the client is at the leader", acquire).await??);
        }
        Ok(results)
    }

    /// Lets the follower forward the creations, and waits until one of them was executed.
    async fn forward(&self) -> Outcome {
        let before = self.changes().await?;
        self.link().set(ToServer, Fault::None);
        until("a creation is executed", async || {
            Ok(self.changes().await? > before)
        })
        .await
    }

    /// How many nodes were created and deleted in all queues.
    async fn changes(&self) -> Outcome<i64> {
        let mut all = 0;
        for name in names() {
            all += changes(&self.driver, &name).await?;
        }
        Ok(all)
    }

    /// Waits until each queue has `length` nodes.
    async fn until_queues(&self, length: usize) -> Outcome {
        for name in names() {
            until_queue(&self.driver, &name, length).await?;
        }
        Ok(())
    }
}

fn names() -> impl Iterator<Item = String> {
    (0..LATE_NAMES).map(|number| format!("late-{number}"))
}

async fn t42_creations_that_come_late_leave_no_second_node(java: Java) -> Outcome {
    let late = Late::new(&java).await?;
    let guards = late.keep(SOON).await?;
    late.until_queues(1).await?;
    late.forward().await?;
    late.until_queues(1).await?;
    for guard in guards {
        let guard = guard?;
        guard.renew().await?;
        guard.release().await?;
    }
    late.until_queues(0).await
}

async fn t42_creations_that_come_late_leave_nothing_of_a_wait_that_ended(java: Java) -> Outcome {
    let late = Late::new(&java).await?;
    for result in late.keep(Duration::from_millis(300)).await? {
        let error = refused(result)?;
        assert_eq!(error.effect(), Effect::Unknown, "{error}");
    }
    late.forward().await?;
    late.until_queues(0).await
}
