//! What proves that a session lives, and for how long.
//!
//! *Held is proved only by a write that a majority has acknowledged*, never by a read, a ping or the
//! state of a connection: a server that is cut off from the leader goes on answering those for seconds
//! after the session's end (T40).
//!
//! Such a write does not refresh the session at the leader. That counts a time-out `T` from the last
//! packet of ours that a follower has told it of when it was asked, every half a tick. How old is that at
//! most when a write of ours is acknowledged? Take two exchanges with the leader, writes or `sync`s, that
//! were answered before the write was sent, the second of them sent half a tick after the first was
//! answered.
//!
//! * Between the two answers the leader has asked, and the follower was asked before it gave us the second
//!   one: what leader and follower say to each other stays in order. It told the leader of the first
//!   exchange then, or earlier, and before it passed on our write. As the leader has got that, it has got
//!   this.
//! * If the write went over another connection, the leader has heard of us when that was made, which was
//!   after the answer.
//!
//! So the session ends no earlier than `T` after the first of the two was sent, whatever was late or
//! asleep, and no proof lasts longer. It is good for `T/2` at the most, and only if acknowledged within
//! `T/12`: that is for a leader which asks late.

use std::time::Duration;

use dlock_core::{BootInstant, backend::SentAt};

/// A proof lasts this part of the session's time-out at the most.
const TTL_PART: u32 = 2;

/// One that lasts less than this part of it is none: another write proves more.
const TTL_MIN_PART: u32 = 3;

/// A write that took longer than this part of it proves nothing.
const ACK_PART: u32 = 12;

/// The leader asks the followers so often in a tick.
const ASKED_PER_TICK: u32 = 2;

/// A write that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writing {
    pub(crate) sent: SentAt,
    /// What the leader will have been told when it has this write.
    pub(crate) told: BootInstant,
}

/// The session lives for that long, counted from the write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    pub(crate) sent: SentAt,
    pub(crate) ttl: Duration,
}

/// What an acknowledged write proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// That the session lives for that long, counted from the write.
    Lives(Duration),
    /// The leader was told too long ago, as far as is known.
    NotYet,
    /// It took too long.
    Late,
}

/// The times of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// `T`, as the servers gave it.
    pub(crate) timeout: Duration,
    /// The servers' tick.
    pub(crate) tick: Duration,
}

impl Times {
    /// The longest that a proof lasts.
    pub(crate) fn ttl(self) -> Duration {
        self.timeout / TTL_PART
    }

    /// How often the leader asks.
    pub(crate) fn asked_every(self) -> Duration {
        self.tick / ASKED_PER_TICK
    }

    /// What a write proves that was sent then, and acknowledged now.
    pub(crate) fn judge(self, sent: BootInstant, told: BootInstant, now: BootInstant) -> Verdict {
        if now.since(sent) > self.timeout / ACK_PART {
            return Verdict::Late;
        }
        let ttl = self.ttl().min(told.after(self.timeout).since(sent));
        if ttl < self.timeout / TTL_MIN_PART {
            return Verdict::NotYet;
        }
        Verdict::Lives(ttl)
    }
}

impl Proof {
    pub(crate) fn end(self) -> BootInstant {
        self.sent.instant().after(self.ttl)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, ops::Range};

    use super::*;
    use crate::liveness::contact::Told;

    /// In milliseconds.
    const TIMEOUT: u64 = 120;
    const STEP: usize = 4;
    const BEAT: usize = 20;

    fn ms(ms: u64) -> BootInstant {
        BootInstant::from_nanos(ms * 1_000_000)
    }

    /// A follower with our session, and its line to the leader. What they say takes no time, but what the
    /// leader says waits for the end of the stall, and it hears nothing from then on.
    struct Line {
        asked_every: u64,
        asked_first: u64,
        stall: Range<u64>,
        /// All that comes from us; the process may have been asleep in between.
        writes: Vec<u64>,
    }

    impl Line {
        /// When the follower has what the leader says then.
        fn arrival(&self, said: u64) -> u64 {
            if self.stall.contains(&said) {
                self.stall.end
            } else {
                said
            }
        }

        /// When the leader was told of the session for the last time.
        fn touched(&self) -> u64 {
            let (mut told, mut touched) = (0, 0);
            let mut asked = self.asked_first;
            while asked < self.stall.start {
                if self.writes.iter().any(|at| (told..asked).contains(at)) {
                    touched = asked;
                }
                told = asked;
                asked += self.asked_every;
            }
            touched
        }

        /// No proof lasts longer than the session; how many there were.
        fn check(&self, times: Times) -> usize {
            let end = ms(self.touched() + TIMEOUT);
            let mut told = Told::since(ms(0));
            let mut unanswered = VecDeque::new();
            let mut proofs = 0;
            for write in self.writes.iter().filter(|at| **at < self.stall.end) {
                while let Some(sent) = unanswered.pop_front_if(|at| self.arrival(*at) <= *write) {
                    told.answered(times, ms(sent), ms(self.arrival(sent)));
                }
                unanswered.push_back(*write);
                let now = ms(self.arrival(*write));
                if let Verdict::Lives(ttl) = times.judge(ms(*write), told.at(), now) {
                    assert!(
                        ms(*write).after(ttl) <= end,
                        "sent at {write} of {:?} in {:?}, asked from {} every {}",
                        self.writes,
                        self.stall,
                        self.asked_first,
                        self.asked_every
                    );
                    proofs += 1;
                }
            }
            proofs
        }
    }

    /// All places of a stall between the leader's questions and our writes; how many proofs there were.
    fn search(tick: u64, writes: impl Fn(u64) -> Vec<u64>) -> usize {
        let times = Times {
            timeout: Duration::from_millis(TIMEOUT),
            tick: Duration::from_millis(tick),
        };
        let asked_every = tick / 2;
        let mut proofs = 0;
        for asked_first in (0..asked_every).step_by(STEP) {
            for start in (TIMEOUT..TIMEOUT + TIMEOUT / 4).step_by(STEP) {
                for end in (start..start + TIMEOUT).step_by(STEP) {
                    let line = Line {
                        asked_every,
                        asked_first,
                        stall: start..end,
                        writes: writes(end),
                    };
                    proofs += line.check(times);
                }
            }
        }
        proofs
    }

    #[test]
    fn t40_a_proof_ends_before_the_session_wherever_the_line_stalls() {
        for tick in [TIMEOUT / 3, TIMEOUT / 15] {
            for under_way in (0..TIMEOUT / 6).step_by(STEP) {
                let beats = |end| (under_way..end).step_by(BEAT).collect::<Vec<_>>();
                assert!(search(tick, beats) > 0);
                // Asleep until just before the end, and then one write after the other.
                for pause in (1..TIMEOUT).step_by(STEP) {
                    let awake = |end: u64| vec![1, end.saturating_sub(pause), end - under_way];
                    search(tick, awake);
                    let busy = |end: u64| {
                        let mut writes = beats(end.saturating_sub(pause));
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
            let times = Times {
                timeout: Duration::from_secs(6),
                tick: Duration::from_millis(tick),
            };
            let mut told = Told::since(ms(0));
            // Answered after 10 ms.
            for sent in (1_000..20_000).step_by(1_000) {
                let verdict = times.judge(ms(sent), told.at(), ms(sent + 10));
                assert_eq!(verdict, Verdict::Lives(Duration::from_secs(3)), "{sent}");
                told.answered(times, ms(sent), ms(sent + 10));
            }
            let judge = |sent, now| times.judge(ms(sent), ms(17_000), ms(now));
            let half = Verdict::Lives(Duration::from_secs(3));
            assert_eq!(judge(20_000, 20_500), half);
            assert_eq!(judge(20_000, 20_501), Verdict::Late);
            assert_eq!(judge(21_001, 21_001), Verdict::NotYet);
            let less = Verdict::Lives(Duration::from_secs(2));
            assert_eq!(judge(21_000, 21_000), less);
        }
    }
}
