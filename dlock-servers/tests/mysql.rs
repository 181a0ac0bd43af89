//! MySQL and MariaDB under their administrator.

use std::{io, process::ExitCode, process::Stdio, time::Duration};

use dlock_servers::mysql::{Flavour, Node, Options};
use dlock_verify::support::{self, Outcome, if_available, within};
use libtest_mimic::Trial;
use tokio::{
    process::{Child, Command},
    runtime::Builder,
    time::sleep,
};

/// The limit for each wait of a test; costs time only where something is wrong.
const SOON: Duration = Duration::from_secs(60);

/// How often a state is polled.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Each server takes much of the machine.
const THREADS: usize = 2;

const TABLE: &str = "CREATE TABLE locks.t (n INT PRIMARY KEY, word VARBINARY(9)) ENGINE=InnoDB; INSERT INTO locks.t \
                     VALUES (1, 'a b'), (2, NULL)";
const ROWS: &str = "SELECT * FROM locks.t ORDER BY n";
const LOCK: &str = "BEGIN; SELECT n FROM locks.t WHERE n = 1 FOR UPDATE";
const SET: &str = "SET GLOBAL read_only = 1";

fn main() -> ExitCode {
    support::main(THREADS, Flavour::ALL.into_iter().flat_map(trials))
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    macro_rules! trials {
        ($($case:ident),* $(,)?) => {
            vec![$({
                let name = format!("{}::{}", flavour.name(), stringify!($case));
                Trial::test(name, move || {
                    Builder::new_current_thread().enable_all().build()?.block_on($case(flavour))
                })
            }),*]
        };
    }
    let trials = trials![
        it_stays_writable_though_a_killed_client_made_it_read_only,
        a_server_that_does_not_follow_gets_the_rows_of_another,
        servers_that_run_together_have_data_of_their_own,
    ];
    if_available(flavour.name(), flavour.find(), trials)
}

async fn it_stays_writable_though_a_killed_client_made_it_read_only(flavour: Flavour) -> Outcome {
    let node = Node::start(flavour, &Options::default()).await?;
    node.query(TABLE).await?;
    let _holder = session(&node, &format!("{LOCK}; SELECT SLEEP(60)"))?;
    until(&node, "SELECT SLEEP(60)", 1).await?;
    // The statement of the read-only server waits for this one, which ends by itself.
    let waiter = format!("SET SESSION innodb_lock_wait_timeout = 20; {LOCK}");
    let mut waiter = session(&node, &waiter)?;
    until(&node, "SELECT n FROM%", 1).await?;
    let mut killed = session(&node, SET)?;
    until(&node, SET, 1).await?;
    killed.kill().await?;
    let writable = async {
        while !node.try_make_writable().await? {
            sleep(POLL_EVERY).await;
        }
        Outcome::Ok(())
    };
    within(SOON, "it is writable", writable).await??;
    within(SOON, "the waiter ends", waiter.wait()).await??;
    until(&node, SET, 0).await?;
    let is_read_only = node.query("SELECT @@global.read_only").await?.concat();
    assert_eq!(is_read_only, ["0"]);
    Ok(())
}

async fn a_server_that_does_not_follow_gets_the_rows_of_another(flavour: Flavour) -> Outcome {
    let options = Options::default();
    let (from, to) = tokio::try_join!(
        Node::start(flavour, &options),
        Node::start(flavour, &options)
    )?;
    from.query(TABLE).await?;
    to.query(TABLE).await?;
    for change in [
        "UPDATE locks.t SET word = 'c' WHERE n = 2; INSERT INTO locks.t VALUES (3, '')",
        "DELETE FROM locks.t WHERE n = 1",
        "DELETE FROM locks.t",
    ] {
        from.query(change).await?;
        assert_ne!(to.query(ROWS).await?, from.query(ROWS).await?, "{change}");
        to.copy_table(&from, "locks.t").await?;
        assert_eq!(to.query(ROWS).await?, from.query(ROWS).await?, "{change}");
    }
    Ok(())
}

/// Both have copies of the same data, as the second one starts while the first runs.
async fn servers_that_run_together_have_data_of_their_own(flavour: Flavour) -> Outcome {
    let options = Options::default();
    let first = Node::start(flavour, &options).await?;
    first.query(TABLE).await?;
    let second = Node::start(flavour, &options).await?;
    let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'locks'";
    assert_eq!(second.query(tables).await?.concat(), ["0"]);
    // MariaDB has no such identity.
    if flavour == Flavour::MySqlNewest {
        let identity = "SELECT @@server_uuid";
        assert_ne!(first.query(identity).await?, second.query(identity).await?);
    }
    Ok(())
}

/// A session of the administrator that runs `sql`.
fn session(node: &Node, sql: &str) -> io::Result<Child> {
    Command::new("mariadb")
        .args(["--no-defaults", "--user=root", "--execute", sql])
        .arg("--socket")
        .arg(node.socket())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

/// Waits until so many sessions run a statement like this one.
async fn until(node: &Node, statement: &str, count: u32) -> Outcome {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE info LIKE '{statement}' AND id <> CONNECTION_ID()"
    );
    let reached = async {
        while node.query(&sql).await?.concat() != [count.to_string()] {
            sleep(POLL_EVERY).await;
        }
        Outcome::Ok(())
    };
    within(SOON, statement, reached).await?
}
