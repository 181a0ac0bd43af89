//! A move in phases, from the first program to the last one.

use std::{
    collections::BTreeMap,
    env,
    io::{self, Write as _},
    sync::Arc,
    time::Duration,
};

use dlock::layers::migrate::Steps;
use dlock_core::ErrorKind;

use dlock_verify::{
    checker::{Facts, Violation, exclusion, tokens},
    ensure,
    random::Random,
    support::{self, Outcome},
};
use tokio::time::sleep;

use super::{
    faults::Faults,
    figures::{Calm, pauses},
    fleet::{Ending, Fleet},
    stores::{Kind, Side, Stores, TOKEN_BASE, Url, of_seed},
};

/// The number of moves.
const ROUNDS_ENV: &str = "DLOCK_TEST_ROUNDS";

/// A move takes a minute, half of it in the switch. On a busy machine it takes longer.
const MOVE_MAX: Duration = Duration::from_secs(240);

const WORKERS: usize = 5;

/// Restarts with another URL in a phase in which programs have two of them.
const RESTARTS: usize = 4;

/// How often the operator gives the command of the switch, and the pause between: longer than a store is down.
const SWITCH_TRIES: u32 = 10;
const SWITCH_AGAIN: Duration = Duration::from_secs(1);

/// Each name is granted so often without faults and restarts, in each phase.
const CALM_GRANTS: u64 = 60;

/// Both stores run, and may be stopped.
const BOTH: [Side; 2] = [Side::Old, Side::New];

pub(crate) fn whole_moves() -> Outcome {
    let rounds = env::var(ROUNDS_ENV).ok();
    let rounds = rounds.map_or(Ok(1), |rounds| rounds.parse::<u64>())?;
    for seed in 1..=rounds {
        support::run(MOVE_MAX, whole_move(seed))?;
    }
    Ok(())
}

struct Move {
    stores: Stores,
    fleet: Fleet,
    faults: Faults,
    random: Random,
    calm: Calm,
}

async fn whole_move(seed: u64) -> Outcome {
    let mut moved = Move {
        stores: Stores::start(of_seed(seed)).await?,
        fleet: Fleet::new(seed),
        faults: Faults::new(seed),
        random: Random::new(seed.rotate_left(32)),
        calm: Calm::default(),
    };
    for _ in 0..WORKERS {
        moved.fleet.start(&moved.stores, Url::Old)?;
    }
    moved.phase("all on the old store", &BOTH).await?;
    moved.stores.steps().await?.start().await?;
    moved.mix(Url::Old, Url::Both).await?;
    moved.phase("on the old store and on both", &BOTH).await?;
    moved.fleet.replace_all(&moved.stores, Url::Both).await?;
    moved.phase("all on both, before the switch", &BOTH).await?;
    moved.switch().await?;
    moved.phase("all on both, after the switch", &BOTH).await?;
    moved.mix(Url::Both, Url::New).await?;
    moved.phase("on both and on the new store", &BOTH).await?;
    moved.fleet.replace_all(&moved.stores, Url::New).await?;
    moved.stores.end_old()?;
    moved.phase("all on the new store", &[Side::New]).await?;
    moved.fleet.end_all().await?;
    moved.judge(seed)
}

impl Move {
    /// Locks are used for a while, then under faults.
    async fn phase(&mut self, name: &str, running: &[Side]) -> Outcome {
        let book = self.fleet.book.clone();
        self.fleet.all_work().await?;
        let from = book.now();
        book.granted(CALM_GRANTS, name).await?;
        self.calm.add(from, book.now());
        self.faults
            .play(&mut self.stores, &mut self.fleet, running)
            .await
    }

    /// The switch, with faults while the old store is closed. A worker with its URL is left, and refused. The operator's
    /// program may be killed, and is started again.
    async fn switch(&mut self) -> Outcome {
        let book = self.fleet.book.clone();
        let forgotten = self.fleet.start_forgotten(&self.stores)?;
        book.granted_to(forgotten, 1).await?;
        let steps = Arc::new(self.stores.steps().await?);
        let start = |steps: &Arc<Steps>| {
            let steps = steps.clone();
            tokio::spawn(async move { switch(&steps).await })
        };
        steps.close().await?;
        let mut switching = start(&steps);
        self.faults
            .play(&mut self.stores, &mut self.fleet, &BOTH)
            .await?;
        if self.random.chance(500) {
            switching.abort();
            switching = start(&steps);
        }
        let from = book.now();
        switching.await??;
        book.granted(1, "after the switch").await?;
        self.calm.add(from, book.now());
        Ok(())
    }

    /// Workers get the one URL or the other, back and forth, and some are killed for it.
    async fn mix(&mut self, one: Url, other: Url) -> Outcome {
        // Each of them at least once.
        let mut urls = vec![other, one];
        while urls.len() < RESTARTS {
            urls.push(if self.random.chance(600) { other } else { one });
        }
        for url in urls {
            let index = self.fleet.any();
            let is_killed = self.random.chance(333);
            let ending = if is_killed {
                Ending::Killed
            } else {
                Ending::Ordered
            };
            self.fleet.replace(&self.stores, index, url, ending).await?;
            self.fleet.book.granted(1, "after a restart").await?;
        }
        Ok(())
    }

    fn judge(&self, seed: u64) -> Outcome {
        self.fleet.book.expected()?;
        let refusal = self.fleet.book.refusal().unwrap_or_default();
        ensure!(
            refusal.contains("moved to"),
            "a worker with the old URL is refused: {refusal:?}"
        );
        let facts = self.fleet.book.facts();
        let (holders, tokens) = violations(&facts)?;
        let broken = holders.iter().chain(&tokens).take(5);
        let broken: Vec<_> = broken.map(ToString::to_string).collect();
        ensure!(broken.is_empty(), "seed {seed}: {}", broken.join("\n"));
        let grants = self.grants(&facts);
        for of in [
            (Url::Old, Side::Old),
            (Url::Both, Side::Old),
            (Url::Both, Side::New),
            (Url::New, Side::New),
        ] {
            ensure!(
                grants.contains_key(&key(of)),
                "no grants of {of:?}: {grants:?}"
            );
        }
        ensure!(
            grants.len() == 4,
            "a program counts by the wrong store: {grants:?}"
        );
        let (calm, ever) = pauses(&facts, &self.calm);
        let _ = writeln!(
            io::stderr(),
            "seed {seed}, {:?}: {} grants {grants:?}, {} restarts, {} of them kills, {} faults, 0 violations; a name was free \
             for up to {calm:?} without faults, {ever:?} with them",
            of_seed(seed),
            facts.grant_count(),
            self.fleet.restarts,
            self.fleet.kills,
            self.faults.count(),
        );
        Ok(())
    }

    /// The number of grants by the URL of the program and the store of the token.
    fn grants(&self, facts: &Facts) -> BTreeMap<String, usize> {
        let mut grants = BTreeMap::new();
        for grant in facts.grants() {
            let side = if grant.token < TOKEN_BASE {
                Side::Old
            } else {
                Side::New
            };
            let client = usize::try_from(grant.client).unwrap_or_default();
            let url = self.fleet.urls[client - 1];
            *grants.entry(key((url, side))).or_default() += 1;
        }
        grants
    }
}

/// The operator's command, given again for as long as a store is down.
async fn switch(steps: &Steps) -> dlock_core::Result<()> {
    let mut tries = 1;
    loop {
        match steps.switch().await {
            Err(error) if error.kind() == ErrorKind::Unavailable && tries < SWITCH_TRIES => {
                tries += 1;
                sleep(SWITCH_AGAIN).await;
            }
            ended => return ended,
        }
    }
}

fn key((url, side): (Url, Side)) -> String {
    format!("{url:?}, token of {side:?}")
}

/// The violations of exclusion, and those of the order of tokens.
fn violations(facts: &Facts) -> Outcome<(Vec<Violation>, Vec<Violation>)> {
    let malformed = facts.malformed.first();
    ensure!(malformed.is_none(), "{malformed:?} cannot be there");
    let violations = [exclusion(facts), tokens(facts)].map(|verdict| verdict.violations().to_vec());
    let [holders, tokens] = violations;
    Ok((holders, tokens))
}

/// A worker with the old store alone is left at the switch: the checks find it.
pub(crate) fn without_barrier() -> Outcome {
    support::run(MOVE_MAX, async {
        let stores = Stores::start((Kind::Redis, Kind::Etcd)).await?;
        let mut fleet = Fleet::new(1);
        stores.steps().await?.start().await?;
        let both = fleet.start(&stores, Url::Both)?;
        let book = fleet.book.clone();
        book.granted_to(both, CALM_GRANTS).await?;
        // The last one to start: 10 s later it reads the record again, and fails.
        let left = fleet.start(&stores, Url::Old)?;
        book.granted_to(left, CALM_GRANTS).await?;
        let (holders, late) = violations(&book.facts())?;
        ensure!(
            holders.is_empty() && late.is_empty(),
            "{holders:?} {late:?}"
        );
        // Without the wait, in which the worker left behind would lose its locks. The one on `migrate:` is replaced, as it
        // may still count on the old store.
        let steps = stores.steps().await?;
        let closed = steps.close().await?;
        let index = fleet.index_of(both)?;
        let both = fleet
            .replace(&stores, index, Url::Both, Ending::Ordered)
            .await?;
        steps.switch_closed(&closed).await?;
        book.granted_to(both, CALM_GRANTS).await?;
        let new = fleet.start(&stores, Url::New)?;
        book.granted_to(new, CALM_GRANTS).await?;
        fleet.end_all().await?;
        let (holders, late) = violations(&book.facts())?;
        let _ = writeln!(
            io::stderr(),
            "a worker left behind: {} holders beside another one, {} tokens out of order",
            holders.len(),
            late.len()
        );
        ensure!(!holders.is_empty(), "no two holders were found");
        ensure!(!late.is_empty(), "no token out of order was found");
        Ok(())
    })
}
