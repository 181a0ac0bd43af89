//! The version of our layout in the servers: compared at connect, and the layout of each version byte for
//! byte.

use dlock::{ErrorKind, Holder};
use dlock_servers::zk::Java;
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    End, Fault, Proxy,
};
use tokio::task::JoinSet;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::support::{
    LONG, Outcome, SESSION, SHORT, SOON, cases, connect, driver, refused, soon, start, take,
    until_queue, within,
};

cases![
    k01_another_layout_is_refused_at_connect_with_both_numbers,
    k01_another_layout_is_refused_by_a_new_session,
    k01_many_first_contacts_make_one_record,
    k01_clients_with_and_without_a_record_exclude_each_other,
    k01_layout_1_byte_for_byte,
    k11_who_may_not_see_the_record_is_let_through,
];

const RECORD: &str = "/dlock/%layout";

/// Makes a node that stays, and what is above it.
async fn put(driver: &Client, path: &str, data: &str) -> Outcome {
    let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
    if let Some((parent, _)) = path
        .rsplit_once('/')
        .filter(|(parent, _)| !parent.is_empty())
    {
        driver.mkdir(parent, &options).await?;
    }
    driver.create(path, data.as_bytes(), &options).await?;
    Ok(())
}

async fn text(driver: &Client, path: &str) -> Outcome<String> {
    Ok(String::from_utf8(driver.get_data(path).await?.0)?)
}

async fn k01_another_layout_is_refused_at_connect_with_both_numbers(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    put(&driver, RECORD, "").await?;
    for (data, says) in [
        ("2", Some("layout 2, and this dlock has layout 1")),
        (
            "2 since then",
            Some("layout 2, and this dlock has layout 1"),
        ),
        ("0", Some("layout 0, and this dlock has layout 1")),
        ("two", Some("\"two\"")),
        ("", Some("\"\"")),
        ("1", None),
        ("1\n", None),
        ("1 and more that a later one wrote", None),
    ] {
        driver.set_data(RECORD, data.as_bytes(), None).await?;
        let connected = connect(node.address(), LONG).await;
        let Some(says) = says else {
            take(&connected?, "a").await?.release().await?;
            continue;
        };
        let error = refused(connected)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{data}: {error}");
        assert!(error.to_string().contains(says), "{data}: {error}");
    }
    assert!(
        driver
            .check_stat(RECORD)
            .await?
            .is_some_and(|stat| stat.version == 8)
    );
    // Of another prefix, and of none.
    connect(node.address(), &format!("{LONG}&prefix=other")).await?;
    put(&driver, "/%layout", "2").await?;
    let error = refused(connect(node.address(), &format!("{LONG}&prefix=")).await)?;
    assert!(error.to_string().contains("layout 2"), "{error}");
    Ok(())
}

async fn k01_another_layout_is_refused_by_a_new_session(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), SHORT).await?;
    let guard = take(&locker, "a").await?;
    driver.set_data(RECORD, b"2", None).await?;
    take(&locker, "b").await?.release().await?;
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::Hold);
    }
    let ended = until_queue(&driver, "a", 0);
    within(SESSION + SOON, "the session's end", ended).await??;
    assert!(!guard.is_held());
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::None);
    }
    proxy.end(End::Reset);
    let error = refused(soon("an error", locker.acquire("a")).await?)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("layout 2"), "{error}");
    Ok(())
}

async fn k01_many_first_contacts_make_one_record(java: Java) -> Outcome {
    const CLIENTS: usize = 20;
    let node = start(&java).await?;
    let mut connecting = JoinSet::new();
    for _ in 0..CLIENTS {
        let address = node.address();
        connecting.spawn(async move { connect(address, &format!("{LONG}&prefix=team/app")).await });
    }
    let mut lockers = Vec::new();
    while let Some(connected) = soon("a connection", connecting.join_next()).await? {
        lockers.push(connected??);
    }
    assert_eq!(
        text(&driver(node.address()).await?, "/team/app/%layout").await?,
        "1"
    );
    Ok(())
}

/// Clients from before the record have the same layout, and write no record.
async fn k01_clients_with_and_without_a_record_exclude_each_other(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    put(&driver, "/dlock/a", "").await?;
    let theirs = "/dlock/a/_c_4f000000-0000-0000-0000-0000000000a1-lock-";
    let line = "4f0000000000000000000000000000a1 1780000000000000 4711@web-3 checkout 77";
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let (stat, number) = driver.create(theirs, line.as_bytes(), &options).await?;
    let locker = connect(node.address(), LONG).await?;
    assert!(locker.try_acquire("a").await?.is_none(), "two hold it");
    let holder = locker.inspect("a").await?.ok_or("it has no holder")?;
    assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    assert_eq!(
        holder.token.map(dlock::Token::get),
        Some(stat.czxid.try_into()?)
    );
    let waiting = tokio::spawn(locker.acquire("a").wait_forever().into_future());
    until_queue(&driver, "a", 2).await?;
    driver.delete(&format!("{theirs}{number}"), None).await?;
    let guard = soon("our turn", waiting).await???;
    assert!(Some(guard.token()) > holder.token);
    assert_eq!(text(&driver, RECORD).await?, "1");
    Ok(guard.release().await?)
}

/// All paths of the tree but the server's own, with their data.
async fn tree(driver: &Client) -> Outcome<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut above = vec![String::new()];
    while let Some(parent) = above.pop() {
        let listed = if parent.is_empty() { "/" } else { &parent };
        for child in driver.list_children(listed).await? {
            let path = format!("{parent}/{child}");
            if path != "/zookeeper" {
                found.push((path.clone(), text(driver, &path).await?));
                above.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// If this has to change, the number of the layout has to, too.
async fn k01_layout_1_byte_for_byte(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let guard = locker.acquire("seat/14C").note("checkout 77").await?;
    guard.renew().await?;
    let holder = locker
        .inspect("seat/14C")
        .await?
        .ok_or("it has no holder")?;
    let Holder {
        since_unix_micros: Some(since),
        host: Some(host),
        pid: Some(pid),
        ..
    } = holder
    else {
        return Err(format!("{holder:?}").into());
    };
    let id = guard.id().to_string();
    let own = format!(
        "/dlock/seat%2F14C/_c_{}-{}-{}-{}-{}-lock-0000000000",
        &id[..8],
        &id[8..12],
        &id[12..16],
        &id[16..20],
        &id[20..]
    );
    let driver = driver(node.address()).await?;
    let session = driver
        .check_stat(&own)
        .await?
        .ok_or("it is not there")?
        .ephemeral_owner;
    let expected = [
        ("/dlock".to_owned(), String::new()),
        ("/dlock/%alive".to_owned(), String::new()),
        (format!("/dlock/%alive/{session:#x}"), String::new()),
        ("/dlock/%layout".to_owned(), "1".to_owned()),
        ("/dlock/seat%2F14C".to_owned(), String::new()),
        (own, format!("{id} {since} {pid}@{host} checkout 77")),
    ];
    assert_eq!(tree(&driver).await?, expected);
    Ok(guard.release().await?)
}

/// The record of another login, and a directory with all rights but those to the record.
async fn k11_who_may_not_see_the_record_is_let_through(java: Java) -> Outcome {
    let node = start(&java).await?;
    let owner = Client::connector()
        .with_auth("digest", b"me:right")
        .connect(&node.address().to_string())
        .await?;
    put(&owner, "/dlock/a", "").await?;
    let secret = CreateMode::Persistent.with_acls(Acls::creator_all());
    owner.create(RECORD, b"2", &secret).await?;
    let locker = connect(node.address(), LONG).await?;
    take(&locker, "a").await?.release().await?;
    // Read it may not be, and written neither.
    let read = CreateMode::Persistent.with_acls(Acls::anyone_read());
    owner.create("/team", b"", &read).await?;
    let locker = connect(format!("{}/team", node.address()), LONG).await?;
    assert_eq!(locker.inspect("a").await?, None);
    Ok(())
}
