//! Identity: whether a session stays on its connection, and each connection reaches the same server.

use std::time::Duration;

use dlock_core::{Clock, Error, Result};
use tokio::{sync::Mutex, time::sleep};

use super::{checks, facts::column};
use crate::{
    driver::mysql::{Connection, Failure, Row, Server},
    probe::{
        clock::{Sample, sample},
        finding::Severity,
        report::Report,
    },
};

/// How often a session is read, and the pause between.
const READS: usize = 3;
const PAUSE: Duration = Duration::from_millis(500);

/// The number of further connections that show whether they all reach the same server.
const CONNECTIONS: usize = 3;

/// A clock that is further off will be set one day.
const CLOCK_OFF_MAX_S: f64 = 2.0;

/// Which session and which server this is.
const IDENTITY: &str = "SELECT CONNECTION_ID(), @@server_id, @@hostname, @@port";

/// The server's clock, in microseconds.
const TIME: &str = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS UNSIGNED)";

/// Reads the session's id over a second, and the server's over several connections.
pub(super) async fn probe(
    server: &Server,
    connection: &mut Connection,
    report: &mut Report,
) -> Result<(), Failure> {
    let first = identity(connection).await?;
    let mut sessions = vec![column(&first, 0).to_owned()];
    let mut servers = vec![server_of(&first)];
    for _ in 1..READS {
        sleep(PAUSE).await;
        let next = identity(connection).await?;
        sessions.push(column(&next, 0).to_owned());
        servers.push(server_of(&next));
    }
    let is_same = sessions.iter().all(|session| *session == sessions[0]);
    let moved = (!is_same).then(|| {
        let found = sessions.join(", then ");
        checks::PROXY.finds(Severity::Danger, found, "the same session")
    });
    report.note(&checks::PROXY, moved);
    for _ in 0..CONNECTIONS {
        let mut other = match server.connect().await {
            Ok(other) => other,
            Err(error) => {
                report.no_answer(&checks::TWO_SERVERS, error, "more connections");
                return Ok(());
            }
        };
        servers.push(server_of(&identity(&mut other).await?));
        other.close().await;
    }
    servers.sort_unstable();
    servers.dedup();
    let several = (servers.len() > 1)
        .then(|| checks::TWO_SERVERS.finds(Severity::Danger, servers.join(" and "), "one server"));
    report.note(&checks::TWO_SERVERS, several);
    Ok(())
}

/// Compares the server's clock with this machine's.
pub(super) async fn judge_clock(connection: Connection, report: &mut Report) -> Connection {
    let shared = Mutex::new(connection);
    let read: Result<Sample> = sample(&Clock::boottime(), || time(&shared)).await;
    match read {
        Ok(read) => {
            let off = read.ahead_s();
            let finding = (off.abs() > CLOCK_OFF_MAX_S).then(|| {
                let found = format!("{off:+.1} s off");
                checks::CLOCK.finds(Severity::Warning, found, "at most 2 s")
            });
            report.note(&checks::CLOCK, finding);
        }
        Err(error) => report.no_answer(&checks::CLOCK, error, "nothing: each account may read it"),
    }
    shared.into_inner()
}

/// The server's clock, in microseconds since 1970.
pub(super) async fn time(connection: &Mutex<Connection>) -> Result<u64> {
    let rows = connection.lock().await.query(TIME).await?;
    let text = rows.first().map_or("", |row| column(row, 0));
    let time = text.split('.').next().and_then(|whole| whole.parse().ok());
    time.ok_or_else(|| {
        let why = format!("the server's time is {text:?}");
        Error::new(dlock_core::ErrorKind::Internal, why)
    })
}

async fn identity(connection: &mut Connection) -> Result<Row, Failure> {
    let mut rows = connection.query(IDENTITY).await?;
    Ok(rows.pop().unwrap_or_default())
}

fn server_of(row: &Row) -> String {
    format!(
        "server_id {} ({}:{})",
        column(row, 1),
        column(row, 2),
        column(row, 3)
    )
}
