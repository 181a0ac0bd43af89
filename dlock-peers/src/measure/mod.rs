//! A run: for each store its server, its clients and their rounds.

mod contended;
mod entrant;
mod interval;
mod meter;
mod round_trip;
mod rounds;
mod slice;
mod summary;

use std::{env, process::Command};

use clap::ValueEnum as _;
use dlock_bench::{KeepAwake, WorkerCommand, data::Awake, machine};
use tokio::runtime::Runtime;

use self::{entrant::Entrant, round_trip::RoundTrip, rounds::rounds, summary::summary};
use crate::{
    catalogue::{self, Client},
    cli::Cli,
    data::{Interval, StoreRun},
    failure::Failure,
    names::{DLOCK, RAW},
    record,
    say::{complain, say},
    server::Server,
    store::Store,
};

/// Measures the stores, one after another.
///
/// # Errors
///
/// When a server of a named store does not start, when dlock fails, or when the figures cannot be kept.
pub(crate) fn run(cli: &Cli) -> Result<(), Failure> {
    let runtime = Runtime::new()?;
    let stores = match &cli.stores[..] {
        [] => Store::value_variants(),
        named => named,
    };
    for &store in stores {
        let server = match runtime.block_on(Server::start(store, cli.delay)) {
            Ok(server) => server,
            Err(missing) if cli.stores.is_empty() => {
                complain(&format!("{store}: left out: {missing}"));
                continue;
            }
            Err(error) => return Err(format!("{store}: {error}").into()),
        };
        let run = runtime.block_on(measure(cli, store, &server))?;
        if let Some(file) = &cli.record {
            record::put(file, &run)?;
        }
    }
    Ok(())
}

async fn measure(cli: &Cli, store: Store, server: &Server) -> Result<StoreRun, Failure> {
    let begun_at = machine::now_utc();
    let mut round_trip = RoundTrip::connect(server).await?;
    let version = round_trip.version().await?;
    say(&format!("{store}: {version}"));
    let mut entrants = Vec::new();
    for (client, again) in chosen(cli, store) {
        let entrant = Entrant::start(client, again, server).await;
        if let Some(why) = entrant.missing() {
            complain(&format!("{store}: {} is left out: {why}", client.name));
        }
        entrants.push(entrant);
    }
    let family = store.family();
    let mut awake = keep_awake(server).await?;
    if let Awake::Not(why) = awake.state() {
        complain(&format!("{store}: the cores are not kept awake: {why}"));
    }
    rounds(
        cli,
        family,
        server,
        &mut awake,
        &mut round_trip,
        &mut entrants,
    )
    .await?;
    let round_trips = round_trip.close().await?;
    let clients = summary(&entrants, &round_trips);
    let ours = clients.iter().find(|run| run.client.name == DLOCK);
    if let Some(why) = ours.and_then(|run| run.missing.as_ref()) {
        return Err(format!("{store}: dlock failed: {why}").into());
    }
    Ok(StoreRun {
        store: store.to_string(),
        server: version,
        begun_at,
        machine: machine::describe(),
        awake: awake.state(),
        rounds: cli.rounds,
        seconds: cli.seconds.as_secs_f64(),
        contention_seconds: cli.contention.as_secs_f64(),
        delay_ms: cli.delay.unwrap_or_default().as_secs_f64() * 1e3,
        round_trip_ms: Interval::of(round_trips.iter().map(|(_, millis)| *millis)),
        clients,
    })
}

/// Starts this program once more, to keep the cores from sleeping.
async fn keep_awake(server: &Server) -> Result<KeepAwake, Failure> {
    let program = env::current_exe()?;
    let command = WorkerCommand::new(move || Command::new(&program));
    Ok(KeepAwake::start(Some(&command), &server.pids()).await)
}

/// The clients of the store, and dlock once more at the end: the difference is noise.
fn chosen(cli: &Cli, store: Store) -> impl Iterator<Item = (Client, bool)> {
    let all = catalogue::of(store.family());
    let again = all.iter().filter(|client| client.name == DLOCK);
    let all = all.iter().map(|client| (*client, false));
    let all = all.chain(again.map(|client| (*client, true)));
    let is_named = |name| cli.only.is_empty() || cli.only.iter().any(|only| only == name);
    let can_connect = move |name| store.is_plain() || [DLOCK, RAW].contains(&name);
    all.filter(move |(client, _)| is_named(client.name) && can_connect(client.name))
}
