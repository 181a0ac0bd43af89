//! The four sentences follow fixed rules.

use dlock_bench::data::{Badge, Run};
use dlock_verify::verdict::{Severity, Verdict};

use crate::sample::{changed, html, run, verdicts, verified, with, words_of_class};

fn tiles(run: &Run) -> Vec<String> {
    words_of_class(&html(run), "tile")
}

#[test]
fn each_sentence_has_its_number_and_how_often() {
    assert_eq!(
        words_of_class(&verified(&run()), "tile"),
        [
            "Safest, as found here file, etcd No clause failed in 2 870 grants under 61 faults or more each: \
             fewer than 1 in 956 is wrong, at 95 % confidence.",
            "Fastest between machines Redis 67 400 locks a second with 64 tasks, 6.4 ± 0.2 times as many as etcd. \
             A lock costs the server 4.10 times and the client 1.58 times the driver's work. One lock takes 121 µs \
             (n = 38 880).",
            "Fastest after a crash file, MySQL The next holder starts within 23.2 ms after a kill (n = 20). \
             The others take 8.19 s to 19.7 s, for a ttl of 10 s.",
            "Mind Redis: maxmemory-policy Found: allkeys-lru. A lock can vanish while it is held; its holder learns \
             of it at the next renewal. CONFIG SET maxmemory-policy noeviction . And 2 more, see below.",
        ]
    );
}

#[test]
fn the_sentence_about_a_crash_has_all_ttls() {
    let run = changed(|run| {
        let mut takeovers = run.stores.iter_mut().filter_map(|store| {
            let is_zk = store.backend == "zk";
            store.takeover.as_mut().filter(|_| is_zk)
        });
        takeovers.next().expect("a take-over of zk").ttl_ms = 15_000;
    });
    let tile = &tiles(&run)[2];
    assert!(
        tile.ends_with("19.7 s, for a ttl of 10 s to 15 s."),
        "{tile}"
    );
}

#[test]
fn a_difference_that_is_noise_is_not_called_one() {
    let run = changed(|run| {
        run.comparisons
            .retain(|comparison| comparison.faster != "redis")
    });
    let tile = &tiles(&run)[1];
    let expected = "Fastest between machines Redis, etcd 67 400 to 10 600 locks a second with 64 tasks; \
                    no difference between them beyond the noise of 1.7 %.";
    assert!(tile.starts_with(expected), "{tile}");
}

#[test]
fn below_the_noise_of_the_run_no_store_is_the_fastest_or_the_cheapest() {
    let mut run = changed(|run| run.noise.same_twice = 8.0);
    let tile = &tiles(&run)[1];
    let expected = "No store is faster Redis, etcd, zk and 1 more 67 400 to 8 900 locks a second with 64 tasks; ";
    assert!(
        tile.starts_with(&expected.replace("zk", "ZooKeeper")),
        "{tile}"
    );
    run.noise.badge = Badge::Noisy;
    let tile = &tiles(&run)[1];
    let expected = "No store is cheaper for the server Redis, ZooKeeper, etcd and 1 more 12.1 µs to 104 µs of the \
                    server's processor for a lock with 64 tasks; no difference between them beyond the noise of 800 %.";
    assert!(tile.starts_with(expected), "{tile}");
    // Redis is apart from the others.
    run.noise.same_twice = 4.0;
    let tile = &tiles(&run)[1];
    let expected = "Least work for the server Redis 12.1 µs of the server's processor for a lock with 64 tasks, 4.10";
    assert!(tile.starts_with(expected), "{tile}");
}

#[test]
fn few_hand_overs_are_not_compared() {
    let run = changed(|run| {
        for store in &mut run.stores {
            store.takeover = None;
            store.hand_over.as_mut().expect("a hand-over").latency.count = 9;
        }
    });
    let tile = &tiles(&run)[2];
    assert!(tile.starts_with("Hand-over file "), "{tile}");
    assert!(tile.ends_with("(n = 9); too few to compare."), "{tile}");
}

#[test]
fn a_store_of_one_machine_is_compared_with_its_like() {
    let run = changed(|run| run.stores.truncate(1));
    let tile = &tiles(&run)[1];
    assert!(
        tile.starts_with("Fastest file 118 000 locks a second with 64 tasks."),
        "{tile}"
    );
}

#[test]
fn without_crashes_the_hand_over_is_named() {
    let run = changed(|run| {
        run.stores
            .iter_mut()
            .for_each(|store| store.takeover = None)
    });
    let tile = &tiles(&run)[2];
    assert!(
        tile.starts_with("Hand-over file The next process has the lock 64.0 µs"),
        "{tile}"
    );
    assert!(
        tile.ends_with("no difference to the next beyond the noise of 1.7 %."),
        "{tile}"
    );
}

#[test]
fn without_verdicts_the_price_of_safety_is_the_last_sentence() {
    let tiles = tiles(&run());
    assert!(tiles[0].starts_with("Safety Not verified"), "{tiles:?}");
    let expected = "The price of safety, at most Redis With 64 tasks dlock reaches 0.60 of the bare driver's rate";
    assert!(tiles[3].starts_with(expected), "{tiles:?}");
}

#[test]
fn a_clause_that_fails_comes_before_any_danger() {
    let mut verdicts = verdicts();
    verdicts.stores[2].clauses[0].verdict = Verdict::Fails;
    verdicts.stores[2].clauses[0].evidence = "held twice for 412 ms".to_owned();
    verdicts.stores[2].clauses[0].witness = vec!["worker 3 and worker 6".to_owned()];
    let page = html(&with(&run(), verdicts));
    let tiles = words_of_class(&page, "tile");
    assert!(
        tiles[0].starts_with("Safest, as found here file No clause failed in 4 112"),
        "{tiles:?}"
    );
    assert!(
        tiles[3].starts_with("Mind etcd: K1 fails exclusion: held twice for 412 ms."),
        "{tiles:?}"
    );
    assert!(words_of_class(&page, "find")[0].contains("worker 3 and worker 6"));
}

#[test]
fn a_finding_that_is_accepted_is_listed_and_not_minded() {
    let mut verdicts = verdicts();
    let findings = verdicts
        .stores
        .iter_mut()
        .flat_map(|store| &mut store.findings);
    findings
        .filter(|finding| finding.severity > Severity::Note)
        .for_each(|finding| finding.accepted = true);
    let page = html(&with(&run(), verdicts));
    assert!(words_of_class(&page, "tile")[3].starts_with("The price of safety"));
    assert!(words_of_class(&page, "find")[0].contains("CONFIG SET maxmemory-policy noeviction"));
}

#[test]
fn a_store_that_was_not_reached_is_minded() {
    let run = changed(|run| run.stores[4].error = Some("connection refused".to_owned()));
    let tile = &tiles(&run)[3];
    assert_eq!(tile, "Mind MySQL: not measured connection refused");
}
