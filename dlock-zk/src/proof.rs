//! What proves that a session lives, and for how long.
//!
//! *Held is proved only by a write that a majority has acknowledged*, never by a read, a ping or the
//! state of a connection: a server that is cut off from the leader goes on answering those for seconds
//! after the session's end (T40).
//!
//! Such a write does not refresh the session at the leader. That counts a time-out `T` from the last
//! packet of ours that a follower has told it of when it was asked, every half a tick. How old is that at
//! most when a write of ours, sent at `w`, is acknowledged?
//!
//! * An earlier write of ours, sent at `h`, was acknowledged before `w`: it was *heard*. What leader and
//!   follower say to each other stays in order. So the follower was asked not more than half a tick
//!   before `h`, it answered before it passed on the write of `w`, and the leader has got both.
//! * Packets of ours are less than `T·5/24` apart, so the answer told of one that was not older than that.
//! * If the connection is another one since, it has told the leader of us when it was made, which took
//!   less than that and ended after `h`.
//!
//! So the session ends no earlier than `h − tick/2 − T·5/24 + T`, and that bounds the proof. Without `h` an
//! idle session could have been forgotten by the leader for a long time, though the write is done. A proof
//! is good for `T/2` at the most, and only if acknowledged within `T/12`: that is for a leader or a
//! follower which is late itself.

use std::time::Duration;

use dlock_core::{Moment, Sent};

/// A proof lasts this part of the session's time-out at the most.
const TTL_PART: u32 = 2;

/// One that lasts less than this part of it is none: another write proves more.
const TTL_MIN_PART: u32 = 3;

/// A write that took longer than this part of it proves nothing.
const ACK_PART: u32 = 12;

/// The session's packets are no further apart than five of this part of it. Heartbeats come after a
/// sixth. The driver pings after a twelfth, but never while a ping is not answered; it gives the
/// connection up after a sixth and a tick of its own, of which the session has 48, and needs one more to
/// ping again. To make a connection takes less.
const PACKETS_PART: u32 = 24;

/// The leader asks the followers so often in a tick.
const ASKED_PER_TICK: u32 = 2;

/// A write that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writing {
    pub(crate) sent: Sent,
    /// When the last write was sent that had been acknowledged by then.
    pub(crate) heard: Moment,
}

/// The session lives for that long, counted from the write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    pub(crate) sent: Sent,
    pub(crate) ttl: Duration,
}

/// What an acknowledged write proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// That the session lives for that long, counted from the write.
    Lives(Duration),
    /// The one before it was too long ago; one more will prove it.
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

    /// What a write proves that was sent then, and acknowledged now.
    pub(crate) fn judge(self, sent: Moment, heard: Moment, now: Moment) -> Verdict {
        if now.since(sent) > self.timeout / ACK_PART {
            return Verdict::Late;
        }
        let untold = self.timeout * 5 / PACKETS_PART + self.tick / ASKED_PER_TICK;
        let end = heard.after(self.timeout.saturating_sub(untold));
        let ttl = self.ttl().min(end.since(sent));
        if ttl < self.timeout / TTL_MIN_PART {
            return Verdict::NotYet;
        }
        Verdict::Lives(ttl)
    }
}

impl Proof {
    pub(crate) fn end(self) -> Moment {
        self.sent.moment().after(self.ttl)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    /// In milliseconds.
    const TIMEOUT: u64 = 120;
    const STEP: usize = 4;

    /// A follower with our session, and its line to the leader. What they say takes no time, but what the
    /// leader says waits for the end of the stall, and it hears nothing from then on.
    struct Line {
        asked_every: u64,
        asked_first: u64,
        stall: Range<u64>,
        /// What comes from us, the writes among it.
        packets: Vec<u64>,
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
                if self.packets.iter().any(|at| (told..asked).contains(at)) {
                    touched = asked;
                }
                told = asked;
                asked += self.asked_every;
            }
            touched
        }

        /// No proof lasts longer than the session.
        fn check(&self, times: Times) {
            let ms = |ms: u64| Moment::from_nanos(ms * 1_000_000);
            let end = ms(self.touched() + TIMEOUT);
            let mut sent = self.writes.iter().filter(|at| **at < self.stall.end);
            while let Some(write) = sent.next_back() {
                let mut before = sent.clone();
                let heard = before.rfind(|at| self.arrival(**at) <= *write);
                let heard = ms(heard.copied().unwrap_or(0));
                let now = ms(self.arrival(*write));
                if let Verdict::Lives(ttl) = times.judge(ms(*write), heard, now) {
                    assert!(
                        ms(*write).after(ttl) <= end,
                        "sent at {write} in {:?}",
                        self.stall
                    );
                }
            }
        }
    }

    const BEAT: usize = 20;

    /// All places of a stall between the leader's questions, our packets and our writes.
    fn search(tick: u64, packets_every: usize, writes: impl Fn(u64) -> Vec<u64>) {
        let times = Times {
            timeout: Duration::from_millis(TIMEOUT),
            tick: Duration::from_millis(tick),
        };
        let asked_every = tick / 2;
        let (from, to) = (TIMEOUT, 3 * TIMEOUT);
        for asked_first in (0..asked_every).step_by(STEP) {
            for start in (from..from + TIMEOUT / 5).step_by(STEP) {
                for end in (start..start + TIMEOUT).step_by(STEP) {
                    let writes = writes(end);
                    let mut packets: Vec<_> = (0..to).step_by(packets_every).collect();
                    packets.extend(&writes);
                    packets.sort_unstable();
                    let stall = start..end;
                    Line {
                        asked_every,
                        asked_first,
                        stall,
                        packets,
                        writes,
                    }
                    .check(times);
                }
            }
        }
    }

    #[test]
    fn t40_a_proof_ends_before_the_session_wherever_the_line_stalls() {
        for tick in [TIMEOUT / 3, TIMEOUT / 15] {
            for packets_every in [25, 10] {
                for under_way in (0..TIMEOUT / 6).step_by(STEP) {
                    // Heartbeats; writes out of idleness, alone and one after the other.
                    search(tick, packets_every, |end| {
                        let beats = (under_way..end).step_by(BEAT);
                        beats.collect()
                    });
                    search(tick, packets_every, |end| vec![end - under_way]);
                    search(tick, packets_every, |end| {
                        vec![end - TIMEOUT / 2 - under_way, end - under_way]
                    });
                }
            }
        }
    }

    #[test]
    fn heartbeats_prove_half_of_the_time_out() {
        let ms = |ms: u64| Moment::from_nanos(ms * 1_000_000);
        let times = |tick| Times {
            timeout: Duration::from_secs(6),
            tick: Duration::from_millis(tick),
        };
        let judge = |tick, heard, sent, now| times(tick).judge(ms(sent), ms(heard), ms(now));
        let half = Verdict::Lives(Duration::from_secs(3));
        assert_eq!(judge(200, 10_000, 11_000, 11_500), half);
        assert_eq!(judge(200, 10_000, 11_000, 11_501), Verdict::Late);
        assert_eq!(judge(200, 10_000, 13_300, 13_300), Verdict::NotYet);
        // Three ticks are the least that a session may have.
        assert_eq!(judge(2_000, 11_000, 11_000, 11_000), half);
        let less = Verdict::Lives(Duration::from_millis(2_750));
        assert_eq!(judge(2_000, 10_000, 11_000, 11_000), less);
    }
}
