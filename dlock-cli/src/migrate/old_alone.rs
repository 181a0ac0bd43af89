//! The holders in the old store that are not on `migrate:`. None of them may be left at the switch.

use std::{collections::BTreeSet, time::Duration};

use dlock::{
    LockName, Result,
    backend::DistributedLock,
    config::{Config, Registry, Settings},
    layers::migrate::{Migration, MigrationStage, straggler},
};
use dlock_raw::residue::Residue;
use serde::Serialize;
use tokio::time::timeout;

use crate::base::output::one_line;

/// So many holders are named.
const NAMED_MAX: usize = 5;

/// So many locks are inspected. An inspection may cost the store as much as a grant.
const LOCKS_MAX: usize = 200;

/// How long the search may take.
const SEARCH_MAX: Duration = Duration::from_secs(20);

/// The holders that were found.
#[derive(Debug, Default, Serialize)]
pub(super) struct OldAlone {
    holders: Vec<Held>,
    /// How many more there are.
    more: usize,
    /// Why not all locks were inspected, if that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
}

#[derive(Debug, Serialize)]
struct Held {
    name: String,
    /// `PID@HOST`, where it is known.
    by: String,
}

/// Whether the locks of the old store, whose record is `old`, are about to leave it, or have left it.
pub(super) fn matters(old: Option<&Migration>) -> bool {
    use MigrationStage::{Closed, Leaving, Left};
    old.is_some_and(|old| matches!(old.stage, Leaving | Closed | Left))
}

/// Searches for holders in the old store of `config`. It takes no lock.
pub(super) async fn find(registry: &Registry, config: &Config) -> OldAlone {
    let mut found = OldAlone::default();
    let unknown = match timeout(SEARCH_MAX, search(registry, config, &mut found)).await {
        Ok(Ok(unknown)) => unknown,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(format!(
            "there are too many to inspect within {SEARCH_MAX:?}"
        )),
    };
    found.unknown = unknown;
    found
}

/// Adds all that is found; why not all were inspected, if that is so.
async fn search(
    registry: &Registry,
    config: &Config,
    found: &mut OldAlone,
) -> Result<Option<String>> {
    let Some(old) = Settings::of(config)?.take_store("from")? else {
        return Ok(None);
    };
    let residue = Residue::open(&old).await?;
    let in_use = residue.in_use(LOCKS_MAX).await;
    residue.close().await;
    let in_use = in_use?;
    let (backend, _) = registry.open(&old).await?;
    let inspected = inspect(
        &*backend,
        in_use.iter().filter_map(|lock| lock.name.clone()),
        found,
    )
    .await;
    let _ = backend.close().await;
    inspected?;
    let nameless = in_use.iter().find(|lock| lock.name.is_none());
    Ok(match nameless {
        _ if in_use.len() >= LOCKS_MAX => Some(format!("there are more than {LOCKS_MAX} locks")),
        Some(lock) => Some(format!(
            "the name of the lock at {} is too long",
            lock.place
        )),
        None => None,
    })
}

/// Inspects each lock once.
async fn inspect(
    old: &dyn DistributedLock,
    names: impl Iterator<Item = LockName>,
    found: &mut OldAlone,
) -> Result<()> {
    for name in BTreeSet::from_iter(names) {
        let holder = old.inspect(&name).await?;
        let Some(by) = holder.and_then(straggler) else {
            continue;
        };
        if found.holders.len() < NAMED_MAX {
            let name = name.to_string();
            found.holders.push(Held { name, by });
        } else {
            found.more += 1;
        }
    }
    Ok(())
}

impl OldAlone {
    /// The holders in a line.
    pub(super) fn text(&self) -> String {
        let holders = self.holders.iter();
        let holders = holders.map(|held| format!("{:?} by {}", held.name, held.by));
        let mut text = holders.collect::<Vec<_>>().join(", ");
        if self.more > 0 {
            text = format!("{text} and {} more", self.more);
        }
        text = match (text.is_empty(), &self.unknown) {
            (true, None) => "none at this moment".to_owned(),
            (true, Some(why)) => format!("not known: {why}"),
            (false, None) => text,
            (false, Some(why)) => format!("{text}; others are not known: {why}"),
        };
        one_line(&format!("held in the old store alone: {text}")) + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(name: &str) -> Held {
        Held {
            name: name.to_owned(),
            by: "4711@web-3".to_owned(),
        }
    }

    #[test]
    fn the_line_is_bounded_and_has_what_is_not_known() {
        let begin = "held in the old store alone: ";
        let mut found = OldAlone::default();
        assert_eq!(found.text(), format!("{begin}none at this moment\n"));
        found.unknown = Some("denied".to_owned());
        assert_eq!(found.text(), format!("{begin}not known: denied\n"));
        found.holders = vec![held("a"), held("b")];
        found.more = 3;
        let names = "\"a\" by 4711@web-3, \"b\" by 4711@web-3 and 3 more";
        let text = format!("{begin}{names}; others are not known: denied\n");
        assert_eq!(found.text(), text);
    }
}
