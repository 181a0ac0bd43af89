//! The binary in a root that holds nothing else, and then one file more at a time.

use std::path::Path;

use super::{
    root::Root,
    server::{Names, Redis},
};
use crate::{
    dist,
    failure::{Failure, Result},
    setup,
    step::skip,
};

/// A user database of one user.
const PASSWD: &str = "root:x:0:0::/home-of-root:/none\n";

const HOSTS: &str = "127.0.0.1 localhost db-1\n";

/// The files of another glibc, and where a program finds them.
const OTHER_GLIBC: &[(&str, &str)] = &[
    (
        "usr/lib/x86_64-linux-gnu/libnss_compat.so.2",
        "lib/x86_64-linux-gnu/libnss_compat.so.2",
    ),
    (
        "usr/lib/x86_64-linux-gnu/libnss_hesiod.so.2",
        "lib/x86_64-linux-gnu/libnss_hesiod.so.2",
    ),
    (
        "usr/lib/x86_64-linux-gnu/libc.so.6",
        "lib/x86_64-linux-gnu/libc.so.6",
    ),
    (
        "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        "lib64/ld-linux-x86-64.so.2",
    ),
];

pub(super) fn run(project: &Path, redis: &Redis) -> Result<()> {
    let mut root = Root::empty(project, "alone")?;
    root.copy(&dist::folder(project).join(dist::PROGRAM), "dlock")?;
    for store in ["etcd", "mysql", "redis", "zk"] {
        root.expect(&["/dlock", "--version"], 0, store)?;
    }
    let files = ["/dlock", "--url", "file:/locks"];
    root.expect(&[&files[..], &["inspect", "a"]].concat(), 1, "free")?;
    let part = "/proc/self/exe is not there";
    root.expect(&run_in("file:/locks"), 126, part)?;
    root.system()?;
    root.expect(&run_in("file:/locks"), 0, "dlock 0.")?;

    let part = "the user database has no home of user 0";
    root.expect(&run_in("file:"), 64, part)?;
    root.write("etc/passwd", PASSWD)?;
    root.write("home-of-root/made", "")?;
    root.expect(&run_in("file:"), 0, "dlock 0.")?;
    if !root.at("home-of-root/.local/state/dlock/a.lock").is_file() {
        return Err(Failure::new("the lock is not in the home"));
    }

    root.write("etc/hosts", HOSTS)?;
    for host in ["localhost", "db-1"] {
        root.expect(&run_in(&redis.url(host)), 0, "dlock 0.")?;
    }
    match Names::start() {
        Ok(()) => {
            let address = Names::ADDRESS;
            root.write("etc/resolv.conf", &format!("nameserver {address}\n"))?;
            root.expect(&run_in(&redis.url(Names::HOST)), 0, "dlock 0.")?;
        }
        Err(failure) => skip("a host by DNS", &failure.to_string()),
    }
    beside_other_glibc(&root, &run_in(&redis.url("db-1")), &run_in("file:"))
}

/// The words that run dlock itself under a lock of the store `url`.
fn run_in(url: &str) -> Vec<&str> {
    let words = [
        "/dlock",
        "--url",
        url,
        "run",
        "a",
        "--",
        "/dlock",
        "--version",
    ];
    words.to_vec()
}

/// A machine's own modules for names are those of its own glibc. Loading them would crash.
fn beside_other_glibc(root: &Root, by_host: &[&str], by_home: &[&str]) -> Result<()> {
    let set = setup::set()?;
    let is_there = |(from, _): &(&str, &str)| set.join(from).is_file();
    if !OTHER_GLIBC.iter().all(is_there) {
        skip("beside another glibc", "no other glibc in target/servers");
        return Ok(());
    }
    for (from, to) in OTHER_GLIBC {
        root.copy(&set.join(from), to)?;
    }
    root.write("etc/nsswitch.conf", "passwd: compat\nhosts: hesiod files\n")?;
    root.expect(by_host, 0, "dlock 0.")?;
    root.expect(by_home, 0, "dlock 0.")
}
