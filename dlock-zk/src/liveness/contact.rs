//! What the leader has been told of a session: [`proof`](crate::liveness::proof) says why two exchanges show it.

use std::collections::VecDeque;

use dlock_core::BootInstant;

use crate::liveness::proof::Times;

/// Exchanges that are kept are this part of the session's time-out apart: so few are.
const KEPT_PART: u32 = 24;

/// What the leader has been told of a session.
#[derive(Debug)]
pub(crate) struct Told {
    /// Of a packet that was sent then, or later.
    at: BootInstant,
    /// Exchanges that it is not known to have been told of.
    exchanges: VecDeque<Exchange>,
}

#[derive(Debug)]
struct Exchange {
    sent: BootInstant,
    answered: BootInstant,
}

impl Told {
    /// Of a session that did not exist before `began`.
    pub(crate) fn since(began: BootInstant) -> Self {
        Self {
            at: began,
            exchanges: VecDeque::new(),
        }
    }

    pub(crate) fn at(&self) -> BootInstant {
        self.at
    }

    /// The leader has answered now what was sent then.
    pub(crate) fn answered(&mut self, times: Times, sent: BootInstant, now: BootInstant) {
        let asked = |first: &mut Exchange| first.answered.after(times.asked_every()) <= sent;
        while let Some(first) = self.exchanges.pop_front_if(asked) {
            self.at = self.at.max(first.sent);
        }
        let apart = times.timeout / KEPT_PART;
        let last = self.exchanges.back();
        if last.is_none_or(|last| last.sent.after(apart) <= sent) {
            self.exchanges.push_back(Exchange {
                sent,
                answered: now,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ms(ms: u64) -> BootInstant {
        BootInstant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_second_exchange_is_half_a_tick_after_the_answer_to_the_first() {
        let times = Times {
            timeout: Duration::from_secs(6),
            tick: Duration::from_secs(2),
        };
        let mut told = Told::since(ms(0));
        told.answered(times, ms(1_000), ms(1_500));
        told.answered(times, ms(2_499), ms(2_600));
        assert_eq!(told.at(), ms(0));
        told.answered(times, ms(2_500), ms(2_600));
        assert_eq!(told.at(), ms(1_000));
    }

    #[test]
    fn few_exchanges_are_kept() {
        let times = Times {
            timeout: Duration::from_secs(6),
            tick: Duration::from_secs(2),
        };
        let mut told = Told::since(ms(0));
        for sent in 1_000..20_000 {
            told.answered(times, ms(sent), ms(sent + 1));
            assert!(told.exchanges.len() <= 6, "{}", told.exchanges.len());
        }
        assert!(ms(20_000).since(told.at()) < Duration::from_millis(1_500));
    }
}
