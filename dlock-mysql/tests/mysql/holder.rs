//! A holder that can be killed: this binary, started again, which takes and releases on command.

use std::{
    env,
    io::{self, Write as _},
    process::{ExitCode, Stdio},
    time::Duration,
};

use dlock::{Guard, Locker, Token};
use dlock_servers::mysql::Node;
use dlock_verify::{
    proxy::{Direction, Fault, Proxy},
    support,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::spawn_blocking,
};

use crate::support::{HOLDING_CONNECTION, Outcome, TTL_LONG, open, within};

/// The name of its lock.
const NAME: &str = "killed";

/// The line that it prints after the release.
const RELEASED: &str = "released";

/// Set for the process that holds: the URL.
const HOLDER_ENV: &str = "DLOCK_TEST_HOLDER";

/// The longest life of a holder.
const LIFE_MAX: Duration = Duration::from_secs(100);

/// How long a server may take, whose machine starts and ends many of them.
const HELD_UP_MAX: Duration = Duration::from_secs(60);

/// A process that holds, and its way to the server.
pub(crate) struct Holder {
    child: Child,
    orders: ChildStdin,
    reports: Lines<BufReader<ChildStdout>>,
    proxy: Proxy,
}

impl Holder {
    pub(crate) fn start(node: &Node) -> Outcome<Self> {
        let proxy = Proxy::start(node.address())?;
        let mut child = Command::new(env::current_exe()?)
            .env(
                HOLDER_ENV,
                with_long_timeouts(&node.url_at(proxy.address())),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let orders = child.stdin.take().ok_or("no standard input")?;
        let reports = child.stdout.take().ok_or("no standard output")?;
        let reports = BufReader::new(reports).lines();
        Ok(Self {
            child,
            orders,
            reports,
            proxy,
        })
    }

    pub(crate) async fn take(&mut self) -> Outcome<Token> {
        self.order("take").await?;
        let report = self.report().await?;
        let token = report.parse().ok().and_then(Token::new);
        Ok(token.ok_or(report)?)
    }

    pub(crate) async fn release(&mut self) -> Outcome {
        self.order("release").await?;
        let report = self.report().await?;
        if report == RELEASED {
            return Ok(());
        }
        Err(report.into())
    }

    /// Gives the order, and waits until what it sends, or the reply, is kept by the proxy.
    pub(crate) async fn held_up(&mut self, order: &str, direction: Direction) -> Outcome {
        let connection = self.proxy.connections();
        let connection = connection.get(HOLDING_CONNECTION).ok_or("no connection")?;
        let seen = connection.seen(direction);
        connection.set(direction, Fault::Hold);
        self.order(order).await?;
        within(
            HELD_UP_MAX,
            "it is sent",
            connection.until_seen(direction, seen + 1),
        )
        .await
    }

    /// Keeps what is sent from now on.
    pub(crate) fn hold_up(&self, direction: Direction) -> Outcome {
        let connection = self.proxy.connections();
        connection
            .get(HOLDING_CONNECTION)
            .ok_or("no connection")?
            .set(direction, Fault::Hold);
        Ok(())
    }

    pub(crate) async fn order(&mut self, order: &str) -> Outcome {
        let line = format!("{order}\n");
        Ok(self.orders.write_all(line.as_bytes()).await?)
    }

    /// Kills it, and its connections with it.
    pub(crate) async fn kill(mut self) -> Outcome {
        Ok(self.child.kill().await?)
    }

    async fn report(&mut self) -> Outcome<String> {
        let line = within(HELD_UP_MAX, "it reports", self.reports.next_line()).await??;
        Ok(line.ok_or("the holder has ended")?)
    }
}

/// The URL of a client that waits for a slow server.
pub(crate) fn with_long_timeouts(url: &str) -> String {
    let seconds = HELD_UP_MAX.as_secs();
    format!("{url}?timeout={seconds}s&connect_timeout={seconds}s")
}

/// The lock, when it is granted.
pub(crate) async fn take_with_long_wait(locker: &Locker) -> Outcome<Guard> {
    Ok(locker.acquire(NAME).wait(HELD_UP_MAX).await?)
}

/// Runs this process as a holder if it was started as one.
pub(crate) fn serve_if_requested() -> Option<ExitCode> {
    let url = env::var(HOLDER_ENV).ok()?;
    let Err(failed) = support::run(LIFE_MAX, serve(&url)) else {
        return Some(ExitCode::SUCCESS);
    };
    // Instead of the output that was ordered; its reader may be gone.
    let _ = writeln!(io::stdout(), "{}", failed.message().unwrap_or("?"));
    Some(ExitCode::FAILURE)
}

async fn serve(url: &str) -> Outcome {
    let locker = open(url, TTL_LONG).await?;
    let mut held = None;
    while let Some(order) = spawn_blocking(|| io::stdin().lines().next()).await? {
        match &*order? {
            "take" => {
                let guard = take_with_long_wait(&locker).await?;
                writeln!(io::stdout(), "{}", guard.token())?;
                held = Some(guard);
            }
            _ => {
                if let Some(guard) = held.take() {
                    guard.release().await?;
                }
                writeln!(io::stdout(), "{RELEASED}")?;
            }
        }
    }
    Ok(())
}
