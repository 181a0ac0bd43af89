//! One strike of a fault, and what comes of it.

use std::{sync::Arc, time::Duration};

use libtest_mimic::Failed;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{sleep, timeout},
};

use super::{
    bites::{Bites, Struck},
    scene::Scene,
};
use crate::{
    chaos::{
        fault::{Evidence, Fault, Site},
        workers::Counts,
    },
    history::{EventKind, FaultPhase},
    support::{Outcome, failed},
};

/// A strike takes at most so long beside its own length, for a server that starts again.
const STRIKE_MAX: Duration = Duration::from_secs(90);

/// Strikes, and has the effects counted.
pub(super) async fn strike(
    scene: Arc<Scene>,
    fault: Arc<dyn Fault>,
    site: Site,
    card: u32,
    counting: OwnedSemaphorePermit,
) -> Outcome {
    let (counts, connections) = (scene.counts(&*fault, &site), scene.workers.connections());
    let (begin, what, max) = (scene.clock.now(), fault.id(), STRIKE_MAX + site.length);
    let target = match fault.evidence() {
        Evidence::Worker => format!("worker {}", site.worker),
        Evidence::Clients | Evidence::Own => "servers".to_owned(),
    };
    let record = |phase| {
        scene.observer.record(EventKind::Fault {
            id: card,
            kind: what.into(),
            target: target.as_str().into(),
            phase,
        });
    };
    record(FaultPhase::Begun);
    let struck = timeout(max, fault.strike(&site)).await;
    let struck = struck.map_err(|_| failed(format!("{what}: not undone within {max:?}")))?;
    let why = |failure: Failed| format!("{what}: {}", failure.message().unwrap_or_default());
    let own = struck.map_err(|failure| failed(why(failure)))?;
    record(FaultPhase::Ended);
    scene.ledger.strike(Struck {
        card,
        fault: what.to_owned(),
        worker: site.worker,
        begin: begin.as_nanos(),
        end: scene.clock.now().as_nanos(),
    });
    tokio::spawn(async move {
        sleep(site.ttl * 2).await;
        let counts = scene.counts(&*fault, &site) - counts;
        let harm = match fault.evidence() {
            Evidence::Own => 0,
            Evidence::Worker | Evidence::Clients => counts.harm(),
        };
        let bites = Bites {
            strikes: 1,
            counts,
            connections: scene.workers.connections() - connections,
            own,
            bites: harm + own,
        };
        scene.ledger.add(fault.id(), &bites);
        drop(counting);
    });
    Ok(())
}

impl Scene {
    /// The counts of the clients that a fault can harm.
    fn counts(&self, fault: &dyn Fault, site: &Site) -> Counts {
        match fault.evidence() {
            Evidence::Worker => self.observer.counts_of(site.worker),
            Evidence::Clients | Evidence::Own => self.observer.counts(),
        }
    }
}
