//! A quorum of three directories.

use std::{ffi::OsString, fs, path::PathBuf};

use dlock_verify::{
    ensure,
    support::Outcome,
    verdict::{Clause, Severity, StoreVerdict},
};
use libtest_mimic::Trial;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::{
    stop::{begun, stopped},
    support::{expect, quick_holds, ran, trial, verify},
};

/// Files alone free a lock that is lost and not released; as nodes of a quorum they do not.
const FREE_AFTER_A_LOSS: &str = "a_lock_of_two_seconds_is_lost_and_free_in_time";

/// Files that a directory has while locks of the contract's cases are in it: the layout, and some locks.
const BUSY: usize = 3;

/// Far above the default of 50 ms: on a busy machine a thread waits longer for its turn.
const PATIENT: &str = "node_timeout=10s";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "quorum::directories_hold_and_no_lock_is_left",
            directories_hold_and_no_lock_is_left,
        ),
        trial(
            "quorum::what_is_left_beside_a_broken_node_is_removed",
            what_is_left_beside_a_broken_node_is_removed,
        ),
        #[cfg(feature = "redis")]
        trial(
            "quorum::a_node_that_is_down_is_named_once_and_the_others_are_verified",
            a_node_that_is_down_is_named_once_and_the_others_are_verified,
        ),
        trial(
            "quorum::ctrl_c_leaves_nothing_in_any_node",
            ctrl_c_leaves_nothing_in_any_node,
        ),
    ]
}

/// Three directories, which are removed at the end, and the URL of their quorum.
struct Quorum {
    nodes: [PathBuf; 3],
    url: String,
    _parent: TempDir,
}

impl Quorum {
    fn new() -> Outcome<Self> {
        let parent = tempfile::tempdir()?;
        let nodes = ["a", "b", "c"].map(|name| parent.path().join(name));
        for node in &nodes {
            fs::create_dir(node)?;
        }
        let [a, b, c] = nodes.each_ref().map(|node| node.display());
        Ok(Self {
            url: format!("quorum:?1=file:{a}&2=file:{b}&3=file:{c}&{PATIENT}"),
            nodes,
            _parent: parent,
        })
    }

    /// Fails unless no node has more than its layout.
    fn ensure_clean(&self) -> Outcome {
        ensure_clean(&self.nodes)
    }
}

fn ensure_clean(nodes: &[PathBuf]) -> Outcome {
    for node in nodes {
        let left = files(node)?;
        let is_clean = left.iter().all(|file| file == "layout");
        ensure!(is_clean, "left behind in {}: {left:?}", node.display());
    }
    Ok(())
}

fn files(node: &PathBuf) -> Outcome<Vec<OsString>> {
    let entries = fs::read_dir(node)?;
    let files: Result<_, std::io::Error> = entries.map(|entry| Ok(entry?.file_name())).collect();
    Ok(files?)
}

fn has_case(store: &StoreVerdict, case: &str) -> bool {
    let mut cases = store.clauses.iter().flat_map(|clause| &clause.cases);
    cases.any(|tried| tried.name == case)
}

/// `--quick` is the shortest that always has time for exclusion.
async fn directories_hold_and_no_lock_is_left() -> Outcome {
    let quorum = Quorum::new()?;
    let store = quick_holds(&quorum.url, &[]).await?;
    ensure!(store.url == quorum.url && store.grants > 0, "{store:#?}");
    let residue = &store.residue;
    ensure!(residue.removed > 0, "{residue:#?}");
    ensure!(residue.left.is_empty(), "{residue:#?}");
    ensure!(residue.unknown.is_none(), "{residue:#?}");
    quorum.ensure_clean()?;

    // Tokens of files grow, also in a quorum.
    let tokens = store.clauses.iter().find(|clause| clause.id == Clause::K5);
    let tokens = tokens.ok_or("no K5")?;
    let grows = "they_grow_over_releases";
    ensure!(
        tokens.cases.iter().any(|case| case.name == grows),
        "{tokens:#?}"
    );
    // What a quorum does not promise is not claimed. Files alone are the control: they promise it.
    let case = FREE_AFTER_A_LOSS;
    ensure!(!has_case(&store, case), "{case}: {store:#?}");
    let alone = format!("file:{}", quorum.nodes[0].display());
    let alone = ran(&[&alone, "--for", "1ms", "--json"]).await?.store()?;
    ensure!(has_case(&alone, case), "{case}: {alone:#?}");
    Ok(())
}

async fn what_is_left_beside_a_broken_node_is_removed() -> Outcome {
    let quorum = Quorum::new()?;
    // The one that is cleared first.
    let [broken, others @ ..] = &quorum.nodes;
    fs::remove_dir(broken)?;
    fs::write(broken, "")?;
    let store = ran(&[&quorum.url, "--for", "2s", "--json"])
        .await?
        .store()?;
    ensure!(store.grants > 0, "{store:#?}");
    let unknown = store.residue.unknown.unwrap_or_default();
    ensure!(unknown.contains("Not a directory"), "{unknown}");
    ensure_clean(others)
}

#[cfg(feature = "redis")]
async fn a_node_that_is_down_is_named_once_and_the_others_are_verified() -> Outcome {
    let quorum = Quorum::new()?;
    let [a, b, _] = quorum.nodes.each_ref().map(|node| node.display());
    // Nothing listens there.
    let url = format!("quorum:?1=file:{a}&2=redis://:hunter2%40127.0.0.1:1&3=file:{b}&{PATIENT}");
    let args = [&*url, "--for", "2s"];
    let text = ran(&args).await?;
    ensure!(!text.stdout.contains("hunter2"), "{text:#?}");
    let store = ran(&[&args[..], &["--json"]].concat()).await?.store()?;
    ensure!(store.grants > 0 && store.error.is_none(), "{store:#?}");
    let server = store.server.as_ref().ok_or("no server")?;
    ensure!(server.product == "files (2 nodes)", "{server:#?}");
    let found = expect(&store, "store.unreachable", Severity::Warning)?;
    let begin = "node 2 (redis://:***@127.0.0.1:1) cannot be reached: ";
    ensure!(found.found.starts_with(begin), "{found:#?}");
    let same = store.findings.iter().filter(|other| other.id == found.id);
    ensure!(same.count() == 1, "{store:#?}");
    Ok(())
}

async fn ctrl_c_leaves_nothing_in_any_node() -> Outcome {
    let quorum = Quorum::new()?;
    let running = verify(&[&quorum.url])?;
    begun("locks in each node", async || {
        for node in &quorum.nodes {
            if files(node)?.len() < BUSY {
                return Ok(false);
            }
        }
        Ok(true)
    })
    .await?;
    stopped(running, Signal::INT).await?;
    quorum.ensure_clean()
}
