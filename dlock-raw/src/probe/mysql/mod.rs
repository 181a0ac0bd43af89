//! MySQL and MariaDB.

pub(super) mod checks;
mod facts;
mod identity;
mod limits;
mod product;
mod replication;

use std::time::Duration;

use dlock_core::{
    Result,
    backend::async_trait,
    config::{Config, Settings},
};
use tokio::sync::Mutex;

use self::{facts::Facts, limits::Given};
use super::{clock::ServerClock, report::Report};
use crate::driver::mysql::{Connection, Server};

/// dlock-mysql's own default and bounds.
const HELD_MAX: u64 = 64;
const HELD: std::ops::RangeInclusive<u64> = 1..=10_000;
const GUARD_MAX: Duration = Duration::from_secs(86_400);

/// Reads the settings of the server of a URL.
pub(super) async fn probe(config: &Config) -> Result<Report> {
    let mut settings = Settings::of(config)?;
    let server = Server::take(&mut settings)?;
    let given = Given {
        held_max: settings.take_u64("held_max", HELD)?.unwrap_or(HELD_MAX),
        restart_guard: settings.take_restart_guard(GUARD_MAX)?,
    };
    let mut report = Report::default();
    let mut connection = server.connect().await?;
    let facts = Facts::read(&mut connection).await?;
    product::judge(&facts, &mut report);
    replication::judge(&facts, &server.user, &mut report);
    limits::judge(&facts, given, &mut report);
    identity::probe(&server, &mut connection, &mut report).await?;
    let connection = identity::judge_clock(connection, &mut report).await;
    connection.close().await;
    product::name(&facts).clone_into(&mut report.about.product);
    facts
        .variable("version")
        .clone_into(&mut report.about.version);
    report.about.servers.push(server.address);
    Ok(report)
}

/// The clock of a server.
struct MySqlClock(Mutex<Connection>);

#[async_trait]
impl ServerClock for MySqlClock {
    async fn micros(&self) -> Result<u64> {
        identity::time(&self.0).await
    }
}

/// The clock of the server of a URL.
pub(super) async fn clock(config: &Config) -> Result<Box<dyn ServerClock>> {
    let server = Server::take(&mut Settings::of(config)?)?;
    Ok(Box::new(MySqlClock(Mutex::new(server.connect().await?))))
}
