//! How often each fault comes in a walk, and what it does.

use crate::{
    dice::Dice,
    fault::Fault,
    rules::{GUARD, LEAP, Rules, Setting},
    world::{Demoted, World},
};

impl Fault {
    /// How often it comes at each step.
    pub(crate) fn share(self, rules: &Rules, variety: f64, dice: &mut Dice) -> f64 {
        if !rules.focus.is_empty() {
            let share = dice.one_of(&[0.01, 0.03, 0.1]);
            return if rules.focus.contains(&self) {
                share
            } else {
                0.0
            };
        }
        let share = dice.one_of(self.shares(rules.setting));
        let comes = dice.chance(variety);
        if comes { share } else { 0.0 }
    }

    /// A walk has one of these.
    fn shares(self, setting: Setting) -> &'static [f64] {
        match self {
            Self::Cut => &[0.0, 0.01, 0.1],
            Self::Pause => &[0.0, 0.01, 0.03],
            // Then a counter that was there and came back may appear fresh.
            Self::RoleChange if setting == Setting::SetBack => &[0.0],
            Self::Flush => &[0.0, 0.01, 0.04],
            Self::RoleChange => &[0.0, 0.01, 0.05],
            Self::CounterLost | Self::RecordLost | Self::Restart | Self::Failover => {
                &[0.0, 0.005, 0.01]
            }
            Self::PromotionForgotten => &[0.0, 0.01, 0.05],
            Self::Foreign => &[0.0, 0.0, 0.02],
            Self::LockLost | Self::PutBack | Self::CutOff if setting == Setting::Excepted => {
                &[0.0, 0.02]
            }
            Self::ClockSet if matches!(setting, Setting::SetBack | Setting::SetForward) => {
                &[0.01, 0.03]
            }
            Self::LockLost | Self::PutBack | Self::CutOff | Self::ClockSet => &[0.0],
        }
    }

    pub(crate) fn happens(self, world: &mut World) {
        match self {
            Self::Cut => {
                let client = world.any_client();
                world.cut(client);
            }
            Self::Pause => {
                let time = world.dice.between(0, GUARD);
                world.pass(time);
            }
            Self::Flush => world.primary().flush(),
            Self::CounterLost => world.primary().lose_counter(),
            Self::RecordLost => world.primary().lose_record(),
            Self::Restart => world.restart(),
            Self::Failover => world.promote(Demoted::Dead),
            Self::RoleChange => world.promote(Demoted::Replica),
            Self::PromotionForgotten => world.forget_promotion(),
            Self::Foreign => world.foreign(),
            Self::LockLost => {
                let name = world.any_name();
                world.primary().lose_lock(name);
            }
            Self::PutBack => world.put_back(),
            Self::CutOff => world.promote(Demoted::CutOff),
            Self::ClockSet => {
                let by = world.dice.between(0, LEAP);
                let is_back = world.rules.setting == Setting::SetBack;
                world.set_clock(if is_back { -by } else { by });
            }
        }
    }
}
