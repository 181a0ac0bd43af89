//! The steps of an operator: in order, repeated, cut off, and out of order.

use dlock_core::{
    AttemptId, ErrorKind, Result,
    backend::{Migration, MigrationRecord as _, MigrationStage},
    config::Config,
    memory::{Fault, Memory, Operation},
};
use dlock_layers::migrate::{MigrateLock, Steps, Store};

use crate::support::{Stores, TOKEN_BASE, record, refused, registry, set};

async fn stages(stores: &Stores) -> Result<(Option<MigrationStage>, Option<MigrationStage>)> {
    let status = stores.steps()?.status().await?;
    let stage = |record: Option<Migration>| record.map(|record| record.stage);
    Ok((stage(status.old), stage(status.new)))
}

const STARTED: (Option<MigrationStage>, Option<MigrationStage>) = (
    Some(MigrationStage::Leaving),
    Some(MigrationStage::Arriving),
);
const SWITCHED: (Option<MigrationStage>, Option<MigrationStage>) =
    (Some(MigrationStage::Left), Some(MigrationStage::Arrived));
const CANCELLED: (Option<MigrationStage>, Option<MigrationStage>) = (
    Some(MigrationStage::Cancelled),
    Some(MigrationStage::Cancelled),
);

#[tokio::test(start_paused = true)]
async fn each_can_be_repeated() -> Result<()> {
    let stores = Stores::new();
    assert_eq!(stages(&stores).await?, (None, None));
    let id = stores.steps()?.start().await?;
    assert_eq!(stores.steps()?.start().await?, id);
    assert_eq!(stages(&stores).await?, STARTED);
    stores.steps()?.switch().await?;
    stores.steps()?.switch().await?;
    assert_eq!(stages(&stores).await?, SWITCHED);
    let status = stores.steps()?.status().await?;
    assert_eq!(
        status.old.map(|old| old.other).as_deref(),
        Some("etcd://etcd-1")
    );
    assert_eq!(
        status.new.map(|new| new.other).as_deref(),
        Some("redis://db-1")
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn one_whose_reply_is_lost_is_done() -> Result<()> {
    let stores = Stores::new();
    // Each step reads both records first.
    for (lost, expected) in [(&stores.old, STARTED), (&stores.new, SWITCHED)] {
        let before = stages(&stores).await?;
        lost.inject(Operation::Migrate, Fault::LoseReply);
        let result = match before {
            STARTED => stores.steps()?.switch().await,
            _ => stores.steps()?.start().await.map(drop),
        };
        assert_eq!(refused(result, "no answer"), ErrorKind::Unavailable);
        lost.clear_faults();
        match expected {
            SWITCHED => stores.steps()?.switch().await?,
            _ => drop(stores.steps()?.start().await?),
        }
        assert_eq!(stages(&stores).await?, expected);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn one_that_was_cut_off_goes_on() -> Result<()> {
    let stores = Stores::new();
    let id = stores.steps()?.start().await?;
    for (old, new) in [
        (MigrationStage::Closed, MigrationStage::Arriving),
        (MigrationStage::Closed, MigrationStage::Arrived),
        (MigrationStage::Leaving, MigrationStage::Arrived),
    ] {
        set(&stores.old, &record(old, id)).await?;
        set(&stores.new, &record(new, id)).await?;
        stores.steps()?.switch().await?;
        assert_eq!(stages(&stores).await?, SWITCHED, "{old} {new}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_start_that_was_cut_off_goes_on() -> Result<()> {
    let stores = Stores::new();
    let id = stores.steps()?.start().await?;
    let cancelled = record(MigrationStage::Cancelled, id);
    set(&stores.new, &cancelled).await?;
    assert_eq!(stores.steps()?.start().await?, id);
    assert_eq!(stages(&stores).await?, STARTED);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_migration_is_cancelled_before_its_switch_only() -> Result<()> {
    let stores = Stores::new();
    let none = stores.steps()?.cancel().await;
    assert_eq!(refused(none, "was begun"), ErrorKind::InvalidConfig);
    let first = stores.steps()?.start().await?;
    stores.steps()?.cancel().await?;
    assert_eq!(stages(&stores).await?, CANCELLED);
    let none = stores.steps()?.switch().await;
    assert_eq!(refused(none, "is cancelled"), ErrorKind::InvalidConfig);
    assert_ne!(stores.steps()?.start().await?, first);
    stores.steps()?.switch().await?;
    let late = stores.steps()?.cancel().await;
    assert_eq!(
        refused(late, "the switch is done"),
        ErrorKind::InvalidConfig
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn locks_move_on_and_back() -> Result<()> {
    let (a, b) = (Memory::new(), Memory::new());
    let with_base = |from: &Memory, base: u64, to: &Memory| {
        let (old, new) = (
            Store::new(from.clone(), base),
            Store::new(to.clone(), base + 1),
        );
        Steps::new(old, new, "redis://db-1", "etcd://etcd-1")
    };
    let steps = |from: &Memory, to: &Memory| with_base(from, 0, to);
    steps(&a, &b)?.start().await?;
    let early = steps(&b, &a)?.start().await;
    assert_eq!(
        refused(early, "in a migration already"),
        ErrorKind::InvalidConfig
    );
    let third = steps(&a, &Memory::new())?.switch().await;
    assert_eq!(refused(third, "was begun"), ErrorKind::InvalidConfig);
    let third = steps(&Memory::new(), &b)?.start().await;
    assert_eq!(refused(third, "arriving since"), ErrorKind::InvalidConfig);
    steps(&a, &b)?.switch().await?;
    let back = with_base(&b, 1, &a)?;
    back.start().await?;
    back.switch().await
}

/// Without it tokens would be smaller than before (K5).
#[tokio::test(start_paused = true)]
async fn the_old_store_has_the_token_base_with_which_its_locks_arrived() -> Result<()> {
    let invalid = ErrorKind::InvalidConfig;
    let (stores, third) = (Stores::started().await?, Memory::new());
    stores.steps()?.switch().await?;
    let side = |base: u64| Store::new(stores.new.clone(), base);
    let next = || Store::new(third.clone(), TOKEN_BASE * 2);
    let steps = |base: u64| Steps::new(side(base), next(), "etcd://etcd-1", "redis://db-3");
    let use_base = format!("use token_base={TOKEN_BASE}");
    assert_eq!(refused(steps(0)?.start().await, &use_base), invalid);
    steps(TOKEN_BASE)?.start().await?;
    let begun_with = format!("begun with token_base={TOKEN_BASE}");
    for base in [0, TOKEN_BASE + 1] {
        for step in [
            steps(base)?.start().await.map(drop),
            steps(base)?.switch().await,
        ] {
            assert_eq!(refused(step, &begun_with), invalid);
        }
        let both = MigrateLock::open(side(base), next()).await;
        assert_eq!(refused(both, &begun_with), invalid);
    }
    // Also for programs with this store alone, during the migration and after its end.
    let alone = async |url: &str| {
        let url = Config::from_url(url)?;
        registry(&stores).connect(&url).await.map(drop)
    };
    for is_cancelled in [false, true] {
        if is_cancelled {
            steps(TOKEN_BASE)?.cancel().await?;
        }
        assert_eq!(refused(alone("new:").await, &use_base), invalid);
        alone("new:?token_base=1000000").await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn one_store_is_not_two() -> Result<()> {
    let store = Memory::new();
    let (old, new) = (Store::new(store.clone(), 0), Store::new(store.clone(), 1));
    let steps = Steps::new(old, new, "redis://db-1", "redis://db-2")?;
    let same = steps.start().await;
    assert_eq!(refused(same, "the same store"), ErrorKind::InvalidConfig);
    let text = store.read().await?.unwrap_or_default();
    assert_eq!(text.parse::<Migration>()?.stage, MigrationStage::Cancelled);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn urls_fit_into_the_record() {
    let of = |url: &str| {
        let (old, new) = Stores::new().sides();
        Steps::new(old, new, "redis://db-1", url)
    };
    let long = format!("etcd://{}", "a".repeat(Migration::OTHER_BYTES_MAX));
    for url in ["", "etcd://a b", &long] {
        assert_eq!(refused(of(url), "no spaces"), ErrorKind::InvalidConfig);
    }
    assert!(of(&long[..Migration::OTHER_BYTES_MAX]).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_second_new_store_has_no_part_in_it() -> Result<()> {
    let stores = Stores::started().await?;
    let (old, _) = stores.sides();
    let (other, other_url) = (Memory::new(), "etcd://other");
    let steps = Steps::new(old, Store::new(other.clone(), 1), "redis://db-1", other_url)?;
    let invalid = ErrorKind::InvalidConfig;
    assert_eq!(
        refused(steps.start().await, "in a migration already"),
        invalid
    );
    assert_eq!(refused(steps.switch().await, "was begun"), invalid);
    assert_eq!(refused(steps.cancel().await, "was begun"), invalid);
    assert_eq!(other.read().await?, None);
    assert_eq!(stages(&stores).await?, STARTED);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_was_cut_off_goes_on() -> Result<()> {
    for (old, new) in [
        (MigrationStage::Leaving, MigrationStage::Cancelled),
        (MigrationStage::Closed, MigrationStage::Cancelled),
        // A start that was late.
        (MigrationStage::Cancelled, MigrationStage::Arriving),
    ] {
        let stores = Stores::new();
        let id = stores.steps()?.start().await?;
        set(&stores.old, &record(old, id)).await?;
        set(&stores.new, &record(new, id)).await?;
        stores.steps()?.cancel().await?;
        assert_eq!(stages(&stores).await?, CANCELLED, "{old} {new}");
        stores.steps()?.start().await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_switch_that_the_new_store_has_lost_is_done_again() -> Result<()> {
    let stores = Stores::new();
    let id = stores.steps()?.start().await?;
    stores.steps()?.switch().await?;
    let lost = record(MigrationStage::Arriving, id);
    set(&stores.new, &lost).await?;
    let opened = stores.both().await;
    assert_eq!(
        refused(opened, "has lost the record"),
        ErrorKind::InvalidConfig
    );
    let late = stores.steps()?.cancel().await;
    assert_eq!(
        refused(late, "the switch is done"),
        ErrorKind::InvalidConfig
    );
    stores.steps()?.switch().await?;
    assert_eq!(stages(&stores).await?, SWITCHED);
    Ok(())
}

/// Both records are not read in one moment: in between another migration may have begun.
#[tokio::test(start_paused = true)]
async fn a_record_of_another_migration_is_not_a_lost_one() -> Result<()> {
    let stores = Stores::started().await?;
    let (before, now) = (AttemptId::from_u128(1), AttemptId::from_u128(2));
    set(&stores.old, &record(MigrationStage::Closed, before)).await?;
    set(&stores.new, &record(MigrationStage::Arriving, now)).await?;
    let switched = stores.steps()?.switch().await;
    assert_eq!(
        refused(switched, "in a migration already"),
        ErrorKind::InvalidConfig
    );
    stores.steps()?.cancel().await?;
    let kept = (
        Some(MigrationStage::Cancelled),
        Some(MigrationStage::Arriving),
    );
    assert_eq!(stages(&stores).await?, kept);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_old_store_that_was_open_in_the_meantime_is_closed_again_first() -> Result<()> {
    let stores = Stores::started().await?;
    let steps = stores.steps()?;
    let closed = steps.close().await?;
    steps.cancel().await?;
    steps.start().await?;
    let early = steps.switch_closed(&closed).await;
    assert_eq!(
        refused(early, "was open in the meantime"),
        ErrorKind::InvalidConfig
    );
    assert_eq!(
        steps.status().await?.new.map(|new| new.stage),
        Some(MigrationStage::Arriving)
    );
    let closed = steps.close().await?;
    steps.switch_closed(&closed).await?;
    steps.switch_closed(&closed).await
}

#[tokio::test]
async fn another_migration_that_begins_during_the_switch_stays_as_it_is() -> Result<()> {
    for is_old_read_late in [true, false] {
        let stores = Stores::started().await?;
        let (steps, other) = (stores.steps()?, stores.steps()?);
        let first = steps.start().await?;
        let closed = steps.close().await?;
        let late = match is_old_read_late {
            true => vec![&stores.old, &stores.new],
            // A record of the one migration, and one of the other.
            false => vec![&stores.new],
        };
        for store in &late {
            store.inject_once(Operation::Migrate, Fault::Stall);
        }
        let switching = tokio::spawn(async move { steps.switch_closed(&closed).await });
        tokio::task::yield_now().await;
        other.cancel().await?;
        assert_ne!(other.start().await?, first);
        for store in late {
            store.clear_faults();
        }
        let switched = switching.await.expect("no panic");
        assert_eq!(refused(switched, ""), ErrorKind::InvalidConfig);
        assert_eq!(stages(&stores).await?, STARTED);
    }
    Ok(())
}
