//! A run: for each store its server, its clients and their rounds.

mod entrant;
mod meter;
mod rounds;
mod slice;
mod summary;

use dlock_bench::machine;
use dlock_core::config::Config;
use tokio::runtime::Runtime;

use self::{entrant::Entrant, rounds::rounds, summary::summary};
use crate::{
    catalogue::{self, Client},
    cli::Cli,
    data::StoreRun,
    failure::Failure,
    names::DLOCK,
    record,
    say::{complain, say},
    server::{Server, Store},
};

/// Measures the stores, one after another.
///
/// # Errors
///
/// When a server of a named store does not start, when dlock fails, or when the figures cannot be kept.
pub(crate) fn run(cli: &Cli) -> Result<(), Failure> {
    let runtime = Runtime::new()?;
    let stores = match &cli.stores[..] {
        [] => Store::ALL,
        named => named,
    };
    for &store in stores {
        let server = match runtime.block_on(store.start()) {
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
    let version = version(server).await?;
    say(&format!("{store}: {version}"));
    let mut entrants = Vec::new();
    for (client, again) in chosen(cli, store) {
        let entrant = Entrant::start(client, again, server).await;
        if let Some(why) = entrant.missing() {
            complain(&format!("{store}: {} is left out: {why}", client.name));
        }
        entrants.push(entrant);
    }
    let pid = server.pid().ok_or("the server has ended")?;
    rounds(cli, pid, &mut entrants).await;
    let clients = summary(&entrants);
    let ours = clients.iter().find(|run| run.client.name == DLOCK);
    if let Some(why) = ours.and_then(|run| run.missing.as_ref()) {
        return Err(format!("{store}: dlock failed: {why}").into());
    }
    Ok(StoreRun {
        store: store.to_string(),
        server: version,
        begun_at,
        machine: machine::describe(),
        rounds: cli.rounds,
        seconds: cli.seconds.as_secs_f64(),
        clients,
    })
}

/// The clients of the store, and dlock once more at the end: the difference is noise.
fn chosen(cli: &Cli, store: Store) -> impl Iterator<Item = (Client, bool)> {
    let all = catalogue::of(store.family());
    let again = all.iter().filter(|client| client.name == DLOCK);
    let all = all.iter().map(|client| (*client, false));
    let all = all.chain(again.map(|client| (*client, true)));
    all.filter(|(client, _)| cli.only.is_empty() || cli.only.iter().any(|name| name == client.name))
}

async fn version(server: &Server) -> Result<String, Failure> {
    let config: Config = server.url().parse()?;
    // dlock makes what the driver alone expects, such as a table.
    drop(dlock::connect(config.clone()).await?);
    let found = dlock_raw::baseline::open(&config).await?;
    let floor = found.floor.ok_or("the store has no driver")?;
    let version = match floor.server() {
        Some(server) => server.version().await?,
        None => None,
    };
    floor.close().await?;
    Ok(version.unwrap_or_default())
}
