//! Runs that are not like the sample: fewer stores, more stores, missing and odd numbers.

use dlock_bench::data::{Badge, Run};

use crate::sample::{
    changed, html, parsed, run, verdicts, verified, with, words, words_of, words_of_class,
};

/// A run of that many stores; those of the sample begin again.
fn of(number: usize) -> Run {
    changed(|run| {
        let sample = run.stores.clone();
        run.stores = sample.iter().cycle().take(number).cloned().collect();
        for (place, store) in run.stores.iter_mut().enumerate() {
            store.label = format!("{} {place}", store.backend);
        }
    })
}

fn assert_no_odd_numbers(page: &str) {
    let (visible, _) = page.split_once("<template").unwrap_or((page, ""));
    for odd in ["NaN", "inf ", "\"inf", "inf,", ">inf", "-inf"] {
        if let Some((before, after)) = visible.split_once(odd) {
            let before: String = before
                .chars()
                .rev()
                .take(80)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            let after: String = after.chars().take(20).collect();
            panic!("{odd} in the report: {before}{odd}{after}");
        }
    }
}

#[test]
fn any_number_of_stores_has_a_report() {
    for number in [0, 1, 2, 6, 7] {
        let page = html(&of(number));
        assert_no_odd_numbers(&page);
        let rows = parsed(&page, |root| {
            let board = root
                .descendants()
                .find(|node| node.attribute("class") == Some("board"));
            let headers = board.into_iter().flat_map(|board| board.descendants());
            headers
                .filter(|node| node.attribute("scope") == Some("row"))
                .count()
        });
        assert_eq!(rows, number);
    }
}

#[test]
fn a_store_that_was_not_reached_is_a_row_with_its_error() {
    let run = changed(|run| {
        let store = &mut run.stores[2];
        let mut unreached = dlock_bench::data::Store::default();
        unreached.label.clone_from(&store.label);
        unreached.url.clone_from(&store.url);
        unreached.backend.clone_from(&store.backend);
        unreached.error = Some("connection refused (os error 111)".to_owned());
        *store = unreached;
    });
    let page = html(&run);
    let errors = words_of_class(&page, "error");
    assert_eq!(errors, ["Not measured: connection refused (os error 111)"]);
    assert!(words_of_class(&page, "board")[0].contains("etcd"));
    assert!(words_of_class(&page, "board")[0].contains("67 400"));
}

#[test]
fn a_store_that_failed_later_has_its_numbers_and_its_error() {
    let run = changed(|run| run.stores[1].error = Some("the server went away".to_owned()));
    let page = html(&run);
    assert!(words_of_class(&page, "board")[0].contains("67 400"));
    assert_eq!(
        words_of_class(&page, "error"),
        ["Redis, not to the end: the server went away"]
    );
}

#[test]
fn what_was_not_measured_is_said_and_has_no_figure() {
    let run = changed(|run| {
        run.settings.all = false;
        for store in &mut run.stores {
            (store.steady, store.contention, store.takeover) = (None, None, None);
            store.held.clear();
        }
    });
    let text = words_of(&html(&run));
    assert!(text.contains(
        "Not measured in this run: a steady load, take-over after a crash, locks that are held, contention. \
         dlock bench --all measures all."
    ));
    for title in [
        "The slow ones",
        "After a crash",
        "Who gets it",
        "Locks that are held",
    ] {
        assert!(!text.contains(title), "{title} is in the report");
    }
    assert!(!words_of(&html(&crate::sample::run())).contains("Not measured in this run"));
}

#[test]
fn names_used_once_are_rows_beside_the_others() {
    let text = words_of(&html(&run()));
    for part in [
        "Redis 64, names used once ",
        "Redis cycle, 64 tasks, names used once ",
        "Names used once: 200 000, of which 180 000 rows, files or directories were removed and 0 locks were left",
        "a process of the class SCHED_IDLE kept 2 cores awake.",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // A run of an earlier version has none.
    let older = changed(|run| {
        run.settings.awake = None;
        for store in &mut run.stores {
            store.new_names.clear();
            (store.used_once, store.floor_of_new_names) = (None, None);
        }
    });
    let text = words_of(&html(&older));
    assert!(
        !text.contains("used once") && !text.contains("SCHED_IDLE"),
        "{text}"
    );
}

#[test]
fn a_run_without_any_result_has_a_report() {
    let run = changed(|run| {
        run.comparisons.clear();
        run.rounds.clear();
        for store in &mut run.stores {
            *store = dlock_bench::data::Store::default();
        }
    });
    assert_no_odd_numbers(&verified(&run));
}

#[test]
fn odd_numbers_are_never_shown() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0] {
        let run = changed(|run| {
            run.noise.same_twice = odd;
            for store in &mut run.stores {
                for cycles in &mut store.cycles {
                    cycles.dlock.per_second.value = odd;
                    cycles.dlock.per_second.low = odd;
                    cycles.dlock.client_cpu_ns = odd;
                    cycles.dlock.server_cpu_ns = Some(odd);
                    if let Some(limit) = &mut cycles.limit {
                        limit.slope_per_second = odd;
                        limit.ceiling_per_second = Some(odd);
                        limit.reached = odd;
                    }
                    if let Some(ratio) = &mut cycles.of_floor {
                        ratio.value = odd;
                    }
                }
                for held in &mut store.held {
                    held.server_requests_per_second = Some(odd);
                    held.ttl_left_min = odd;
                }
                if let Some(contention) = &mut store.contention {
                    contention.jain = odd;
                    contention.grants = vec![0; 8];
                }
                if let Some(exchange) = &mut store.exchange {
                    exchange.for_each_cycle = odd;
                    exchange.latency.histogram.clear();
                }
                if let Some(steady) = &mut store.steady {
                    steady.latency = dlock_bench::data::Latency::default();
                }
            }
        });
        assert_no_odd_numbers(&verified(&run));
    }
}

#[test]
fn on_a_noisy_machine_rates_are_grey_and_processor_time_leads() {
    let run = changed(|run| {
        run.noise.badge = Badge::Noisy;
        run.noise.reasons = vec!["other processes used 40 % of the processor".to_owned()];
    });
    let page = html(&run);
    assert!(
        words_of_class(&page, "quiet")[0].contains("Other processes used 40 % of the processor.")
    );
    let tiles = words_of_class(&page, "tile");
    assert!(
        tiles[1].starts_with("Least work for the server Redis 12.1 µs"),
        "{tiles:?}"
    );
    let grey = words_of_class(&page, "dim");
    assert!(
        grey.iter().any(|cell| cell.contains("67 400")),
        "rates are grey"
    );
    assert!(
        !grey.iter().any(|cell| cell.contains("4.10 × driver")),
        "processor times are not"
    );
    assert!(words_of_class(&html(&crate::sample::run()), "dim").is_empty());
}

#[test]
fn safety_is_beside_speed_only_if_it_was_verified() {
    let board = |page: &str| words_of_class(page, "board").concat();
    let with = verified(&run());
    for chip in [
        "✓ all hold",
        "✕ 1 danger",
        "▲ 1 warning",
        "? 2 unknown",
        "3 104 grants",
    ] {
        assert!(
            board(&with).contains(chip),
            "{chip} is not in {}",
            board(&with)
        );
    }
    let without = html(&run());
    assert!(board(&without).contains("? not verified"));
    let safety = parsed(&without, |root| {
        let section = root
            .descendants()
            .find(|node| node.attribute("id") == Some("safety"));
        section.map(words).unwrap_or_default()
    });
    assert!(safety.contains("Not verified in this run."), "{safety}");
    assert!(!safety.contains("exclusion"), "{safety}");
}

/// The cells of a row of the matrix of faults, by the id of the fault.
fn faults(page: &str, id: &str) -> Vec<String> {
    parsed(page, |root| {
        let mut heads = root.descendants();
        let head =
            heads.find(|node| node.has_tag_name("th") && node.attribute("title") == Some(id));
        let row = head.and_then(|head| head.parent()).expect("a row");
        let cells = row.children().filter(|node| node.has_tag_name("td"));
        cells.map(words).collect()
    })
}

#[test]
fn each_fault_has_its_bites_and_violations_on_each_store() {
    let mut verdicts = verdicts();
    let of_redis = verdicts.stores[1].faults.iter_mut();
    let cut = { of_redis }.find(|fault| fault.id == "net-cut");
    cut.expect("a fault").violations = 2;
    let page = html(&with(&run(), verdicts));
    let cells = faults(&page, "net-cut");
    // Files have no connection; MySQL declares what happened.
    assert_eq!(
        cells,
        [
            "–",
            "✕ 2 broken of 112, bit 7 ×",
            "✓ 0 of 112, bit 7 ×",
            "✓ 0 of 112, bit 7 ×",
            "▲ 2 declared of 96, bit 6 ×",
        ]
    );
    // A fault that never bit proves nothing.
    assert_eq!(faults(&page, "kill-waiter")[0], "? never bit of 100");
}

#[test]
fn without_faults_there_is_no_matrix() {
    let mut verdicts = verdicts();
    verdicts
        .stores
        .iter_mut()
        .for_each(|store| store.faults.clear());
    let page = html(&with(&run(), verdicts));
    assert!(!page.contains("What was done to the clients"));
    assert!(words_of_class(&page, "board")[0].contains("Safety without faults"));
}
