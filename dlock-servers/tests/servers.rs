//! The real servers: each kind starts, outlives what it should, and ends with its test.
//!
//! A binary without the standard harness: it reports a server that is missing as ignored, and runs
//! itself again as a test that is killed.

use std::{
    env, fs,
    future::Future,
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use dlock_servers::{
    Certificates, Program, SetClock,
    redis::{Cluster, Flavour, Login, Node, Options, Persistence, Replicated, Reply, Tls},
};
use dlock_verify::support::{self, if_available};
use libtest_mimic::{Failed, Trial};
use redis::{ClientTlsConfig, TlsCertificates};
use tokio::{runtime::Builder, time::timeout};

type Outcome = Result<(), Failed>;

/// Set for the process that is killed: the name of its server.
const OWNER_ENV: &str = "DLOCK_TEST_SERVER_OWNER";

/// The limit for each wait of a test; costs time only where something is wrong.
const SOON: Duration = Duration::from_secs(60);

/// A Cluster is six servers, and the machine may have two processors.
const THREADS: usize = 3;

fn main() -> ExitCode {
    if let Ok(name) = env::var(OWNER_ENV) {
        own_until_killed(&name);
    }
    let clock = Trial::test("a_killed_server_leaves_nothing_of_its_clock", || {
        run(a_killed_server_leaves_nothing_of_its_clock())
    });
    let clock = if_available("libfaketime", SetClock::library().map(drop), vec![clock]);
    let trials = Flavour::ALL.into_iter().flat_map(trials);
    support::main(THREADS, trials.chain(clock))
}

fn trials(flavour: Flavour) -> Vec<Trial> {
    let found = flavour.find();
    macro_rules! trials {
        ($($case:ident),* $(,)?) => {
            vec![$({
                let found = found.clone();
                Trial::test(format!("{}::{}", flavour.name(), stringify!($case)), move || {
                    run($case(found?))
                })
            }),*]
        };
    }
    let mut trials = trials![
        what_is_not_kept_is_gone_after_a_restart,
        an_aof_outlives_a_crash,
        a_snapshot_outlives_an_orderly_end,
        a_stopped_server_does_nothing_until_it_goes_on,
        a_password_is_needed,
        a_user_is_needed,
        tls_replaces_the_plain_port,
        a_wrong_line_is_a_failure_with_the_log,
        a_loading_server_is_not_ready,
        sentinels_replace_a_primary,
        sentinels_work_with_passwords_and_tls,
        a_cluster_replaces_a_master,
        a_cluster_works_with_passwords_and_tls,
    ];
    let killed = move || dies_with_its_owner(flavour);
    let name = format!("{}::a_server_dies_with_its_owner", flavour.name());
    trials.push(Trial::test(name, killed));
    if_available(flavour.name(), found, trials)
}

fn run<T>(case: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(case);
    assert_eq!(runtime.metrics().num_alive_tasks(), 0, "tasks are left");
    outcome
}

async fn set(node: &Node) -> io::Result<()> {
    node.command(&["SET", "key", "1"]).await.map(drop)
}

/// On its replicas too.
async fn set_everywhere(node: &Node, replicas: &str) -> io::Result<()> {
    let commands: [&[&str]; 2] = [&["SET", "key", "1"], &["WAIT", replicas, "0"]];
    node.commands(&commands).await.map(drop)
}

async fn value(node: &Node) -> io::Result<Reply> {
    node.command(&["GET", "key"]).await
}

fn kept(value: &str) -> Reply {
    Reply::Text(value.to_owned())
}

/// One that ends in order removes it by itself.
async fn a_killed_server_leaves_nothing_of_its_clock() -> Outcome {
    let program = Flavour::RedisStable.find()?.under(&SetClock::new()?)?;
    let mut node = Node::start(&program, &Options::default()).await?;
    for _ in 0..2 {
        let process = node.pid().ok_or("it does not run")?.to_string();
        assert!(!shared(&process)?.is_empty());
        node.kill()?;
        assert_eq!(shared(&process)?, [""; 0]);
        node.resume().await?;
    }
    let process = node.pid().ok_or("it does not run")?.to_string();
    drop(node);
    assert_eq!(shared(&process)?, [""; 0]);
    Ok(())
}

/// The names of the memory and semaphores that a process shares with its children.
fn shared(process: &str) -> io::Result<Vec<String>> {
    let end = format!("_{process}");
    let names = fs::read_dir("/dev/shm")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    Ok(names.filter(|name| name.ends_with(&end)).collect())
}

async fn what_is_not_kept_is_gone_after_a_restart(program: Program) -> Outcome {
    let mut node = Node::start(&program, &Options::default()).await?;
    let address = node.address();
    assert_eq!(node.command(&["PING"]).await?, kept("PONG"));
    assert_eq!(node.info("tcp_port").await?, address.port().to_string());
    set(&node).await?;
    node.restart().await?;
    assert_eq!((value(&node).await?, node.address()), (Reply::Nil, address));
    node.kill()?;
    node.kill()?;
    assert!(node.command(&["PING"]).await.is_err());
    node.resume().await?;
    assert!(node.resume().await.is_err(), "it runs already");
    let directory = node.process().directory().to_owned();
    drop(node);
    assert!(!directory.exists());
    Ok(())
}

async fn an_aof_outlives_a_crash(program: Program) -> Outcome {
    for persistence in [Persistence::AofAlways, Persistence::AofEverySecond] {
        let options = Options {
            persistence,
            ..Options::default()
        };
        let mut node = Node::start(&program, &options).await?;
        set(&node).await?;
        assert_eq!(node.info("aof_enabled").await?, "1");
        // A killed process loses nothing that it has written; only a machine that fails does.
        node.restart().await?;
        assert_eq!(value(&node).await?, kept("1"), "{persistence:?}");
    }
    Ok(())
}

async fn a_snapshot_outlives_an_orderly_end(program: Program) -> Outcome {
    let options = Options {
        persistence: Persistence::Rdb,
        ..Options::default()
    };
    let mut node = Node::start(&program, &options).await?;
    set(&node).await?;
    node.terminate().await?;
    node.resume().await?;
    assert_eq!(value(&node).await?, kept("1"));
    Ok(())
}

async fn a_stopped_server_does_nothing_until_it_goes_on(program: Program) -> Outcome {
    let mut node = Node::start(&program, &Options::default()).await?;
    node.stop()?;
    let answer = timeout(Duration::from_millis(300), node.command(&["PING"])).await;
    assert!(answer.is_err(), "{answer:?}");
    node.cont()?;
    assert_eq!(node.command(&["PING"]).await?, kept("PONG"));
    // A stopped one can be killed too.
    node.stop()?;
    node.restart().await?;
    node.stop()?;
    Ok(())
}

/// The reply to a client without a password on the port for clients.
async fn refusal(node: &Node) -> io::Result<String> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(node.address()).await?;
    stream.write_all(b"PING\r\n").await?;
    let mut answer = [0; 256];
    let length = timeout(SOON, stream.read(&mut answer)).await??;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

async fn a_password_is_needed(program: Program) -> Outcome {
    let password = r#"a "b" \c #d"#;
    let options = Options {
        login: Login::Password(password.to_owned()),
        ..Options::default()
    };
    assert!(!format!("{options:?}").contains("#d"));
    let node = Node::start(&program, &options).await?;
    assert_eq!(node.command(&["PING"]).await?, kept("PONG"));
    assert!(refusal(&node).await?.starts_with("-NOAUTH"));
    Ok(())
}

async fn a_user_is_needed(program: Program) -> Outcome {
    let options = Options {
        login: Login::User("dlock".to_owned(), "secret".to_owned()),
        lines: vec!["user other on >p ~x:* +get".to_owned()],
        ..Options::default()
    };
    let node = Node::start(&program, &options).await?;
    assert_eq!(node.command(&["ACL", "WHOAMI"]).await?, kept("dlock"));
    assert_eq!(node.command(&["ACL", "LIST"]).await?.array()?.len(), 3);
    assert!(refusal(&node).await?.starts_with("-NOAUTH"));
    Ok(())
}

async fn tls_replaces_the_plain_port(program: Program) -> Outcome {
    for tls in [Tls::On, Tls::Mutual] {
        let options = Options {
            tls,
            ..Options::default()
        };
        let node = Node::start(&program, &options).await?;
        assert!(!refusal(&node).await.is_ok_and(|said| said == "+PONG\r\n"));
        let files = node.certificates().ok_or("no certificates")?;
        let client = ClientTlsConfig {
            client_cert: fs::read(files.client())?,
            client_key: fs::read(files.client_key())?,
        };
        assert_eq!(ping_encrypted(&node, Some(client))?, "PONG");
        let without = ping_encrypted(&node, None);
        assert_eq!(without.is_ok(), tls == Tls::On, "{without:?}");
    }
    Ok(())
}

/// The server's certificate is checked for its address.
fn ping_encrypted(node: &Node, client_tls: Option<ClientTlsConfig>) -> redis::RedisResult<String> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let ca = node
        .certificates()
        .map(Certificates::ca)
        .unwrap_or_default();
    let certificates = TlsCertificates {
        client_tls,
        root_cert: Some(fs::read(ca)?),
    };
    let client =
        redis::Client::build_with_tls(format!("rediss://{}", node.address()), certificates)?;
    redis::cmd("PING").query(&mut client.get_connection_with_timeout(SOON)?)
}

async fn a_wrong_line_is_a_failure_with_the_log(program: Program) -> Outcome {
    let options = Options {
        lines: vec!["maxmemory plenty".to_owned()],
        ..Options::default()
    };
    let started = Node::start(&program, &options).await;
    let failed = started
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(failed.contains("it ended with exit status: 1"), "{failed}");
    assert!(failed.contains("maxmemory plenty"), "{failed}");
    Ok(())
}

async fn a_loading_server_is_not_ready(program: Program) -> Outcome {
    let options = Options {
        persistence: Persistence::AofAlways,
        lines: vec!["key-load-delay 200".to_owned()],
        ..Options::default()
    };
    let mut node = Node::start(&program, &options).await?;
    let count = "5000";
    let fill = "for i = 1, ARGV[1] do redis.call('SET', i, i) end";
    node.command(&["EVAL", fill, "0", count]).await?;
    node.restart().await?;
    assert_eq!(node.command(&["DBSIZE"]).await?.int()?.to_string(), count);
    Ok(())
}

async fn sentinels_replace_a_primary(program: Program) -> Outcome {
    let mut redis = Replicated::start(&program, &Options::default(), 2).await?;
    let first = redis.primary().await?;
    assert_eq!((first, redis.addresses().len()), (0, 3));
    set_everywhere(&redis.nodes()[first], "2").await?;

    redis.nodes_mut()[first].kill()?;
    let second = redis.until_promoted(first).await?;
    assert_eq!(value(&redis.nodes()[second]).await?, kept("1"));
    redis.nodes_mut()[first].resume().await?;
    redis.until_complete().await?;
    let third = redis.fail_over().await?;
    assert_ne!(third, second);
    assert_eq!(value(&redis.nodes()[third]).await?, kept("1"));

    // A Sentinel keeps what it knows.
    let sentinel = &mut redis.sentinels()[0];
    sentinel.restart().await?;
    let known = sentinel
        .command(&["SENTINEL", "REPLICAS", "primary"])
        .await?;
    assert_eq!(known.array()?.len(), 2);
    Ok(())
}

/// Passwords and encryption also between the servers.
fn guarded() -> Options {
    Options {
        login: Login::User("dlock".to_owned(), "secret".to_owned()),
        tls: Tls::Mutual,
        ..Options::default()
    }
}

async fn sentinels_work_with_passwords_and_tls(program: Program) -> Outcome {
    let redis = Replicated::start(&program, &guarded(), 1).await?;
    assert_eq!(redis.primary().await?, 0);
    assert_eq!(redis.fail_over().await?, 1);
    Ok(())
}

async fn a_cluster_replaces_a_master(program: Program) -> Outcome {
    let mut cluster = Cluster::start(&program, &Options::default()).await?;
    assert_eq!(cluster.addresses().len(), 6);
    let owner = cluster.owner_of("key").await?;
    assert!(owner < 3, "{owner}");
    set_everywhere(&cluster.nodes()[owner], "1").await?;
    cluster.nodes_mut()[owner].kill()?;
    let new = cluster.until_owner_of("key", owner).await?;
    assert_eq!(new, owner + 3);
    assert_eq!(value(&cluster.nodes()[new]).await?, kept("1"));
    cluster.nodes_mut()[owner].resume().await?;
    cluster.until_ok().await?;
    assert_eq!(cluster.owner_of("key").await?, new);
    Ok(())
}

async fn a_cluster_works_with_passwords_and_tls(program: Program) -> Outcome {
    let cluster = Cluster::start(&program, &guarded()).await?;
    cluster.owner_of("key").await?;
    Ok(())
}

/// Starts itself again as the owner of a server, kills it, and checks that the server ends.
fn dies_with_its_owner(flavour: Flavour) -> Outcome {
    flavour.find()?;
    let mut owner = Command::new(env::current_exe()?)
        .env(OWNER_ENV, flavour.name())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = owner.stdout.take().ok_or("no standard output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let (server, directory) = line
        .trim()
        .split_once(' ')
        .ok_or_else(|| format!("{line:?}"))?;
    let status = format!("/proc/{server}/status");
    let is_there = || fs::read_to_string(&status).is_ok_and(|status| !status.contains("(zombie)"));
    assert!(is_there(), "{line}");
    owner.kill()?;
    owner.wait()?;
    fs::remove_dir_all(directory)?;
    run(async move {
        let gone = async {
            while is_there() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        Ok(timeout(SOON, gone).await?)
    })
}

/// Says which server it has, and waits to be killed.
fn own_until_killed(name: &str) -> ! {
    let owned = async {
        let mut flavours = Flavour::ALL.into_iter();
        let flavour = flavours.find(|flavour| flavour.name() == name);
        let program = flavour.ok_or("no such server")?.find()?;
        // The thread that starts it ends before; the server must not.
        let start = || run(async { Ok(Node::start(&program, &Options::default()).await?) });
        let node = std::thread::scope(|scope| scope.spawn(start).join());
        let node = node.map_err(|_| "it panicked")??;
        // Also one that is stopped dies.
        node.stop()?;
        let pid = node.process().pid().ok_or("it does not run")?;
        let directory = node.process().directory().display();
        writeln!(io::stdout(), "{pid} {directory}")?;
        std::future::pending::<Outcome>().await
    };
    let outcome = run(owned);
    panic!("it did not wait: {outcome:?}");
}
