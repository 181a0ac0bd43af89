//! The leader's last contact with a session, as far as exchanges show it: see [`proof`](super::proof).

use std::collections::VecDeque;

use dlock_core::BootInstant;

use super::proof::SessionTimes;

/// Recorded exchanges are at least this part of the session's time-out apart, so there are few.
const APART_PART: u32 = 24;

/// The last packet of a session that the leader has certainly heard of.
#[derive(Debug)]
pub(crate) struct LeaderContact {
    /// The packet was sent then or later.
    at: BootInstant,
    /// Exchanges that the leader may not have heard of.
    exchanges: VecDeque<Exchange>,
}

#[derive(Debug)]
struct Exchange {
    sent: BootInstant,
    answered: BootInstant,
}

impl LeaderContact {
    /// The contact with a session that was created after `began`.
    pub(crate) fn since(began: BootInstant) -> Self {
        Self {
            at: began,
            exchanges: VecDeque::new(),
        }
    }

    pub(crate) fn at(&self) -> BootInstant {
        self.at
    }

    /// Records an exchange that was sent at `sent` and answered at `now`.
    pub(crate) fn answered(&mut self, times: SessionTimes, sent: BootInstant, now: BootInstant) {
        let is_polled = |first: &mut Exchange| first.answered.after(times.polled_every()) <= sent;
        while let Some(first) = self.exchanges.pop_front_if(is_polled) {
            self.at = self.at.max(first.sent);
        }
        let apart = times.timeout / APART_PART;
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
        let times = SessionTimes {
            timeout: Duration::from_secs(6),
            tick: Duration::from_secs(2),
        };
        let mut contact = LeaderContact::since(ms(0));
        contact.answered(times, ms(1_000), ms(1_500));
        contact.answered(times, ms(2_499), ms(2_600));
        assert_eq!(contact.at(), ms(0));
        contact.answered(times, ms(2_500), ms(2_600));
        assert_eq!(contact.at(), ms(1_000));
    }

    #[test]
    fn few_exchanges_are_recorded() {
        let times = SessionTimes {
            timeout: Duration::from_secs(6),
            tick: Duration::from_secs(2),
        };
        let mut contact = LeaderContact::since(ms(0));
        for sent in 1_000..20_000 {
            contact.answered(times, ms(sent), ms(sent + 1));
            assert!(contact.exchanges.len() <= 6, "{}", contact.exchanges.len());
        }
        assert!(ms(20_000).since(contact.at()) < Duration::from_millis(1_500));
    }
}
