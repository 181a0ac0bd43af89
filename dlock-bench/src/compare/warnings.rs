//! Why two runs may not be comparable.

use humantime::parse_rfc3339;

use crate::data::{Awake, Run, Store};

/// The reasons in words: the order of the runs, the machines, the servers.
pub(super) fn warnings(old: &Run, new: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    if let (Ok(before), Ok(after)) = (parse_rfc3339(&old.begun_at), parse_rfc3339(&new.begun_at))
        && before > after
    {
        let (before, after) = (&old.begun_at, &new.begun_at);
        warnings.push(format!("OLD is newer than NEW: {before} is after {after}"));
    }
    if old.machine != new.machine {
        let (before, after) = (old.machine.to_string(), new.machine.to_string());
        warnings.push(format!("the machines differ: {before} → {after}"));
    }
    warnings.extend(awake(old, new));
    // The servers of --local have other ports each time.
    let are_given = !old.settings.local && !new.settings.local;
    for before in &old.stores {
        let after = new.stores.iter().find(|store| store.label == before.label);
        warnings.extend(after.and_then(|after| other_server(before, after)));
        let other = after.filter(|after| are_given && after.url != before.url);
        warnings.extend(other.map(|after| {
            let label = &before.label;
            format!("the URL of {label} differs: {} → {}", before.url, after.url)
        }));
    }
    warnings
}

/// Figures by one task have the time of a core to wake up in them, or not.
fn awake(old: &Run, new: &Run) -> Option<String> {
    let is_kept = |run: &Run| matches!(run.settings.awake, Some(Awake::Cores(_)));
    let words = |is_kept| if is_kept { "kept awake" } else { "asleep" };
    let (before, after) = (is_kept(old), is_kept(new));
    (before != after).then(|| {
        let (before, after) = (words(before), words(after));
        format!(
            "idle cores were {before}, and then {after}: 1 task and the hand-over differ by that"
        )
    })
}

fn other_server(before: &Store, after: &Store) -> Option<String> {
    let (old, new) = (before.server.as_ref()?, after.server.as_ref()?);
    let label = &before.label;
    (old != new).then(|| format!("the server of {label} differs: {old} → {new}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Run {
        Run::parse(include_str!("../../tests/data/sample.json")).expect("the sample")
    }

    #[test]
    fn another_order_machine_and_server_are_named() {
        let (old, mut new) = (sample(), sample());
        assert!(warnings(&old, &new).is_empty());
        new.begun_at = "2026-11-22T03:09:59Z".to_owned();
        new.machine.cores = 8;
        new.stores[1].server = Some("Redis 8.2.0".to_owned());
        let expected = [
            "OLD is newer than NEW: 2026-11-22T03:10:00Z is after 2026-11-22T03:09:59Z",
            "the machines differ: 2 cores, a sample processor, Linux 6.1.0 → \
             8 cores, a sample processor, Linux 6.1.0",
            "the server of redis differs: Redis 7.0.15 → Redis 8.2.0",
        ];
        assert_eq!(warnings(&old, &new), expected);
    }

    #[test]
    fn cores_that_slept_in_one_run_are_named() {
        let (mut old, new) = (sample(), sample());
        for awake in [None, Some(Awake::Not("a reason".to_owned()))] {
            old.settings.awake = awake;
            let expected = "idle cores were asleep, and then kept awake: 1 task and the hand-over differ by that";
            assert_eq!(warnings(&old, &new), [expected]);
        }
        assert!(warnings(&old, &old).is_empty());
    }

    #[test]
    fn another_url_is_named_where_the_user_gave_it() {
        let (mut old, mut new) = (sample(), sample());
        new.stores[1].url = "redis://db-2".to_owned();
        assert!(warnings(&old, &new).is_empty());
        (old.settings.local, new.settings.local) = (false, false);
        let expected = "the URL of redis differs: redis://app:***@127.0.0.1:6379 → redis://db-2";
        assert_eq!(warnings(&old, &new), [expected]);
    }
}
