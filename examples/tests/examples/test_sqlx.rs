//! The example `with_sqlx`, in a server of its own.

use dlock_servers::mysql::{Flavour, Node, Options};
use dlock_verify::{ensure, support::Outcome};
use sqlx::MySqlPool;

use crate::with_sqlx::run;

pub(crate) async fn a_late_write_is_refused() -> Outcome {
    let node = Node::start(Flavour::MariaDbStable, &Options::default()).await?;
    let locks = dlock::connect("memory:").await?;
    let pool = MySqlPool::connect(&node.url()).await?;
    let lines = run(&locks, &pool).await?;
    let wanted = ["alice: accepted", "bob: accepted", "alice, late: refused"];
    ensure!(lines == wanted, "{lines:?}");
    let text = node.query("SELECT text FROM locks.documents").await?;
    ensure!(text == [["by bob"]], "{text:?}");
    Ok(())
}
