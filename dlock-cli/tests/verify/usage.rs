//! Wrong command lines, and stores that cannot be reached.

use std::net::TcpListener;

use dlock_verify::{
    ensure,
    support::Outcome,
    verdict::{ClauseVerdict, Outcome as End, Verdict},
};
use libtest_mimic::Trial;

use crate::support::{ran, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("usage::an_unknown_id_is_refused", an_unknown_id_is_refused),
        trial("usage::memory_is_refused", memory_is_refused),
        trial("usage::a_wrong_url_is_refused", a_wrong_url_is_refused),
        trial(
            "usage::a_wrong_url_among_others_is_refused",
            a_wrong_url_among_others_is_refused,
        ),
        trial("usage::a_file_is_no_directory", a_file_is_no_directory),
        trial(
            "usage::a_run_without_time_tries_nothing",
            a_run_without_time_tries_nothing,
        ),
        trial(
            "usage::what_is_accepted_need_not_be_tried",
            what_is_accepted_need_not_be_tried,
        ),
    ];
    if cfg!(feature = "redis") {
        trials.extend([
            trial(
                "usage::a_store_alone_that_is_not_there",
                a_store_alone_that_is_not_there,
            ),
            trial(
                "usage::a_store_alone_that_is_not_there_has_a_document",
                a_store_alone_that_is_not_there_has_a_document,
            ),
            trial(
                "usage::a_store_among_others_is_a_row",
                a_store_among_others_is_a_row,
            ),
        ]);
    }
    trials
}

async fn an_unknown_id_is_refused() -> Outcome {
    let ran = ran(&["file:/nowhere", "--accept", "redis.evicton"]).await?;
    ensure!(ran.code == 64, "{ran:#?}");
    let part = "--accept \"redis.evicton\" is not known (allowed: K1 to K13, ";
    ensure!(ran.stderr.contains(part), "{ran:#?}");
    ensure!(ran.stderr.lines().count() == 1, "{ran:#?}");
    Ok(())
}

async fn memory_is_refused() -> Outcome {
    let ran = ran(&["memory:"]).await?;
    ensure!(
        ran.code == 64 && ran.stderr.lines().count() == 1,
        "{ran:#?}"
    );
    Ok(())
}

async fn a_wrong_url_is_refused() -> Outcome {
    for url in ["http://x", "file:/nope/dir", "file:/tmp?tll=5"] {
        let ran = ran(&[url]).await?;
        ensure!(
            ran.code == 64 && ran.stderr.lines().count() == 1 && ran.stdout.is_empty(),
            "{url}: {ran:#?}"
        );
    }
    Ok(())
}

/// No store is used before the settings of all are right.
async fn a_wrong_url_among_others_is_refused() -> Outcome {
    let parent = tempfile::tempdir()?;
    let directory = parent.path().join("locks");
    let url = format!("file:{}", directory.display());
    let ran = ran(&[&url, "file:/tmp?tll=5"]).await?;
    ensure!(
        ran.code == 64 && ran.stderr.lines().count() == 1 && ran.stdout.is_empty(),
        "{ran:#?}"
    );
    ensure!(!directory.exists(), "the directory was made: {ran:#?}");
    Ok(())
}

async fn a_file_is_no_directory() -> Outcome {
    let file = tempfile::NamedTempFile::new()?;
    let url = format!("file:{}", file.path().display());
    let ran = ran(&[&url]).await?;
    ensure!(ran.code == 1, "{ran:#?}");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["it is a file", "give the path of a directory"] {
        ensure!(text.contains(part), "no {part:?}: {ran:#?}");
    }
    ensure!(!text.contains("mkdir"), "{ran:#?}");
    Ok(())
}

async fn a_run_without_time_tries_nothing() -> Outcome {
    let directory = tempfile::tempdir()?;
    let url = format!("file:{}", directory.path().display());
    let ran = ran(&[&url, "--for", "1ms", "--json"]).await?;
    ensure!(ran.code == 2, "{ran:#?}");
    let store = ran.store()?;
    ensure!(store.clauses.len() == 13, "{store:#?}");
    // Exclusion has to be tried; the others do not count then.
    let not_tried = |clause: &ClauseVerdict| clause.verdict == Verdict::NotTried;
    ensure!(store.clauses.iter().all(not_tried), "{store:#?}");
    Ok(())
}

async fn what_is_accepted_need_not_be_tried() -> Outcome {
    let directory = tempfile::tempdir()?;
    let url = format!("file:{}", directory.path().display());
    let ran = ran(&[&url, "--for", "1ms", "--accept", "K1"]).await?;
    ensure!(ran.code == 0, "{ran:#?}");
    for part in [
        "– K13",
        "not tried: no time for it",
        "HOLDS",
        "12 not tried",
    ] {
        ensure!(ran.stdout.contains(part), "no {part:?}: {ran:#?}");
    }
    Ok(())
}

/// A port at which nothing listens.
fn nowhere() -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(format!("redis://:hunter2@{}", listener.local_addr()?))
}

async fn a_store_alone_that_is_not_there() -> Outcome {
    let ran = ran(&[&nowhere()?]).await?;
    ensure!(
        ran.code == 69 && ran.stderr.lines().count() == 1,
        "{ran:#?}"
    );
    ensure!(!ran.stderr.contains("hunter2"), "{ran:#?}");
    Ok(())
}

/// A program reads the document in any case.
async fn a_store_alone_that_is_not_there_has_a_document() -> Outcome {
    let ran = ran(&[&nowhere()?, "--json"]).await?;
    ensure!(
        ran.code == 69 && ran.stderr.lines().count() == 1,
        "{ran:#?}"
    );
    let error = ran.store()?.error.ok_or("no error")?;
    ensure!(!error.contains("hunter2"), "{error}");
    Ok(())
}

async fn a_store_among_others_is_a_row() -> Outcome {
    let directory = tempfile::tempdir()?;
    let url = format!("file:{}", directory.path().display());
    let ran = ran(&[&nowhere()?, &url, "--for", "20s", "--no-faults", "--json"]).await?;
    ensure!(ran.code == 2, "{ran:#?}");
    let stores = ran.document()?.stores;
    let ends: Vec<_> = stores.iter().map(End::of).collect();
    ensure!(ends.as_slice() == [End::Unknown, End::Holds], "{stores:#?}");
    ensure!(
        stores.iter().all(|store| !store.url.contains("hunter2")),
        "{stores:#?}"
    );
    Ok(())
}
