//! Proofs against a model of a follower, a leader and the network between them.

use std::{collections::VecDeque, ops::Range, time::Duration};

use dlock_core::BootInstant;

use super::{
    contact::LeaderContact,
    proof::{Evidence, SessionTimes},
};

/// In milliseconds.
const TIMEOUT: u64 = 120;
const STEP: usize = 4;
const HEARTBEAT: usize = 20;

fn ms(ms: u64) -> BootInstant {
    BootInstant::from_nanos(ms * 1_000_000)
}

/// A follower with the session, and its connection to the leader. Their messages take no time. During the stall the
/// leader's messages wait for its end, and the leader receives nothing from its beginning on.
struct Follower {
    polled_every: u64,
    polled_first: u64,
    stall: Range<u64>,
    /// The writes of the client, which may be suspended between them.
    writes: Vec<u64>,
}

impl Follower {
    /// When the follower receives what the leader sends at `sent`.
    fn arrival(&self, sent: u64) -> u64 {
        if self.stall.contains(&sent) {
            self.stall.end
        } else {
            sent
        }
    }

    /// When the leader has heard of the session for the last time.
    fn touched(&self) -> u64 {
        let (mut last_poll, mut touched) = (0, 0);
        let mut poll = self.polled_first;
        while poll < self.stall.start {
            if self.writes.iter().any(|at| (last_poll..poll).contains(at)) {
                touched = poll;
            }
            last_poll = poll;
            poll += self.polled_every;
        }
        touched
    }

    /// Checks that no proof lasts longer than the session, and counts the proofs.
    fn check(&self, times: SessionTimes) -> usize {
        let end = ms(self.touched() + TIMEOUT);
        let mut contact = LeaderContact::since(ms(0));
        let mut unanswered = VecDeque::new();
        let mut proofs = 0;
        for write in self.writes.iter().filter(|at| **at < self.stall.end) {
            while let Some(sent) = unanswered.pop_front_if(|at| self.arrival(*at) <= *write) {
                contact.answered(times, ms(sent), ms(self.arrival(sent)));
            }
            unanswered.push_back(*write);
            let now = ms(self.arrival(*write));
            if let Evidence::Proves(ttl) = times.evaluate(ms(*write), contact.at(), now) {
                assert!(
                    ms(*write).after(ttl) <= end,
                    "sent at {write} of {:?} in {:?}, polled from {} every {}",
                    self.writes,
                    self.stall,
                    self.polled_first,
                    self.polled_every
                );
                proofs += 1;
            }
        }
        proofs
    }
}

/// Tries all places of a stall between the leader's polls and the client's writes, and counts the proofs.
fn search(tick: u64, writes: impl Fn(u64) -> Vec<u64>) -> usize {
    let times = SessionTimes {
        timeout: Duration::from_millis(TIMEOUT),
        tick: Duration::from_millis(tick),
    };
    let polled_every = tick / 2;
    let mut proofs = 0;
    for polled_first in (0..polled_every).step_by(STEP) {
        for start in (TIMEOUT..TIMEOUT + TIMEOUT / 4).step_by(STEP) {
            for end in (start..start + TIMEOUT).step_by(STEP) {
                let follower = Follower {
                    polled_every,
                    polled_first,
                    stall: start..end,
                    writes: writes(end),
                };
                proofs += follower.check(times);
            }
        }
    }
    proofs
}

#[test]
fn t40_a_proof_ends_before_the_session_wherever_the_connection_stalls() {
    for tick in [TIMEOUT / 3, TIMEOUT / 15] {
        for in_flight in (0..TIMEOUT / 6).step_by(STEP) {
            let heartbeats = |end| (in_flight..end).step_by(HEARTBEAT).collect::<Vec<_>>();
            assert!(search(tick, heartbeats) > 0);
            // Suspended until just before the end, and then one write after the other.
            for pause in (1..TIMEOUT).step_by(STEP) {
                let awake = |end: u64| vec![1, end.saturating_sub(pause), end - in_flight];
                search(tick, awake);
                let busy = |end: u64| {
                    let mut writes = heartbeats(end.saturating_sub(pause));
                    writes.extend([end - 3, end - 2, end - 1]);
                    writes
                };
                search(tick, busy);
            }
        }
    }
}

#[test]
fn heartbeats_prove_half_of_the_time_out() {
    for tick in [200, 2_000] {
        let times = SessionTimes {
            timeout: Duration::from_secs(6),
            tick: Duration::from_millis(tick),
        };
        let mut contact = LeaderContact::since(ms(0));
        // Answered after 10 ms.
        for sent in (1_000..20_000).step_by(1_000) {
            let evidence = times.evaluate(ms(sent), contact.at(), ms(sent + 10));
            assert_eq!(evidence, Evidence::Proves(Duration::from_secs(3)), "{sent}");
            contact.answered(times, ms(sent), ms(sent + 10));
        }
        let evaluate = |sent, now| times.evaluate(ms(sent), ms(17_000), ms(now));
        let half = Evidence::Proves(Duration::from_secs(3));
        assert_eq!(evaluate(20_000, 20_500), half);
        assert_eq!(evaluate(20_000, 20_501), Evidence::TooSlow);
        assert_eq!(evaluate(21_001, 21_001), Evidence::ContactTooOld);
        let less = Evidence::Proves(Duration::from_secs(2));
        assert_eq!(evaluate(21_000, 21_000), less);
    }
}
