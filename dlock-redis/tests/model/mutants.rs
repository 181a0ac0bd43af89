//! Broken copies of the design: each is found.

use crate::{
    checks::Clause,
    fault::Fault,
    rules::{Mutant, Rules, Setting},
    walk::walk,
};

/// In so many walks.
const WALKS: u64 = 10_000;

#[track_caller]
fn dies(mutant: Mutant, setting: Setting, focus: &'static [Fault], clause: Clause) {
    let rules = Rules::broken(mutant, setting, focus);
    let mut found = (0..WALKS).filter_map(|seed| walk(seed, rules).err());
    let is_found = found.any(|violation| violation.clause == clause);
    assert!(is_found, "{mutant:?} lives");
}

macro_rules! mutants {
    ($($name:ident: $mutant:ident in $setting:ident by [$($fault:ident),*] breaks $clause:ident;)*) => {
        $(
            #[test]
            fn $name() {
                dies(
                    Mutant::$mutant,
                    Setting::$setting,
                    &[$(Fault::$fault),*],
                    Clause::$clause,
                );
            }
        )*
    };
}

mutants! {
    script_without_clock_after_old_data: NoClock in Excepted by [PutBack] breaks Tokens;
    script_without_clock_beside_a_former_primary: NoClock in Excepted by [CutOff] breaks Tokens;
    carried_clock_after_old_data: CarriedClock in Excepted by [PutBack] breaks Tokens;
    carried_clock_beside_a_former_primary: CarriedClock in Excepted by [CutOff] breaks Tokens;
    no_least: NoLeast in SetBack by [ClockSet, Flush] breaks Tokens;
    deadline_from_reply: DeadlineFromReply in Agreed by [Pause] breaks Exclusion;
    blind_release: BlindRelease in Agreed by [Pause] breaks Exclusion;
    renewal_by_name: RenewalByName in Agreed by [Restart, Foreign] breaks Exclusion;
    retry_draws_token: RetryDrawsToken in Agreed by [Cut] breaks Same;
    retry_keeps_end: RetryKeepsEnd in Agreed by [Cut] breaks Exclusion;
    no_history: NoHistory in Agreed by [Flush] breaks Exclusion;
    history_not_compared: HistoryNotCompared in Agreed by [Flush] breaks Exclusion;
    no_guard_after_restart: NoGuardAfterRun in Agreed by [Restart] breaks Exclusion;
    no_guard_after_failover: NoGuardAfterRun in Agreed by [Failover] breaks Exclusion;
    no_guard_after_loss: NoGuardAfterLoss in Agreed by [Flush] breaks Exclusion;
    run_only_after_failovers: RunOnly in Agreed by [Failover] breaks Exclusion;
    run_only_after_role_changes: RunOnly in Agreed by [RoleChange] breaks Exclusion;
    never_checks_again: NeverChecksAgain in Agreed by [RoleChange] breaks Exclusion;
    counter_not_restored: CounterNotRestored in Agreed by [RoleChange] breaks Exclusion;
    counter_not_checked: CounterNotChecked in Agreed by [CounterLost] breaks Progress;
    promotion_forgotten_at_once: ForgetsAtOnce in Agreed by [RoleChange, PromotionForgotten] breaks Exclusion;
    ttl_above_guard: TtlAboveGuard in Agreed by [Flush] breaks Exclusion;
}
