//! One direction of one connection.

use dlock_core::{BootInstant, Clock};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::{
        mpsc::{Receiver, Sender, channel},
        watch,
    },
    time::{Duration, sleep},
};

use super::fault::Fault;

/// How many bytes are taken at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// How many chunks wait to be passed on before no more are taken.
const CHUNKS_MAX: usize = 64;

/// A throttled stream passes what belongs to this time, and then waits for it.
const THROTTLE_STEP: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Pipe {
    clock: Clock,
    fault: watch::Sender<Fault>,
    /// How many bytes have arrived.
    pub(super) seen: watch::Sender<u64>,
    /// How many bytes have been passed on.
    pub(super) passed: watch::Sender<u64>,
}

/// Why a connection ended before both sides closed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A fault has cut it.
    Cut,
    /// A side has reset it.
    Broken,
}

/// A piece of the stream, and the time of its arrival.
struct Chunk {
    arrived: BootInstant,
    what: What,
}

enum What {
    Bytes(Vec<u8>),
    End,
    Reset,
}

/// The treatment of a chunk under a fault.
enum Verdict {
    Pass,
    PassAt(u32),
    Discard,
    Cut,
}

impl Pipe {
    pub(super) fn new(fault: Fault) -> Self {
        Self {
            clock: Clock::boottime(),
            fault: watch::Sender::new(fault),
            seen: watch::Sender::new(0),
            passed: watch::Sender::new(0),
        }
    }

    pub(super) fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }

    /// Carries until the stream has ended and its end has been passed on.
    pub(super) async fn forward(
        &self,
        from: impl AsyncRead + Unpin,
        to: impl AsyncWrite + Unpin,
    ) -> Result<(), Stop> {
        let (queue, queued) = channel(CHUNKS_MAX);
        let take = async {
            self.take(from, queue).await;
            Ok(())
        };
        tokio::try_join!(self.pass(queued, to), take).map(|_| ())
    }

    /// Takes what arrives, and passes nothing on.
    pub(super) async fn discard_all(&self, from: &mut (impl AsyncRead + Unpin)) {
        let mut bytes = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            add(&self.seen, count);
        }
    }

    /// Takes what arrives. A delay counts from here, so this does not wait for what is before it.
    async fn take(&self, mut from: impl AsyncRead + Unpin, queue: Sender<Chunk>) {
        loop {
            let mut bytes = vec![0; CHUNK_BYTES];
            let read = from.read(&mut bytes).await;
            let what = match read {
                Ok(0) => What::End,
                Ok(count) => {
                    bytes.truncate(count);
                    What::Bytes(bytes)
                }
                Err(_) => What::Reset,
            };
            let is_last = !matches!(what, What::Bytes(_));
            let arrived = self.clock.now();
            add(&self.seen, read.unwrap_or(0));
            let queued = queue.send(Chunk { arrived, what }).await;
            if is_last || queued.is_err() {
                return;
            }
        }
    }

    async fn pass(
        &self,
        mut queued: Receiver<Chunk>,
        mut to: impl AsyncWrite + Unpin,
    ) -> Result<(), Stop> {
        while let Some(Chunk { arrived, what }) = queued.recv().await {
            let verdict = self.verdict(arrived).await;
            let bytes = match what {
                // What a partition holds, it holds to the end; no other fault can lose an end.
                What::End => break,
                What::Reset => return Err(Stop::Broken),
                What::Bytes(bytes) => bytes,
            };
            match verdict {
                Verdict::Pass => self.write(&mut to, &bytes).await?,
                Verdict::PassAt(rate) => self.write_at(rate, &mut to, &bytes).await?,
                Verdict::Discard => {}
                Verdict::Cut => return Err(Stop::Cut),
            }
        }
        to.shutdown().await.map_err(|_| Stop::Broken)
    }

    /// Waits until the fault in force says what becomes of what arrived then.
    async fn verdict(&self, arrived: BootInstant) -> Verdict {
        let mut fault = self.fault.subscribe();
        loop {
            let current = *fault.borrow_and_update();
            let wait = match current {
                Fault::None => return Verdict::Pass,
                Fault::Throttle(rate) => return Verdict::PassAt(rate.get()),
                Fault::Discard => return Verdict::Discard,
                Fault::CutInstead => return Verdict::Cut,
                Fault::Hold => None,
                Fault::Delay(delay) => {
                    match delay.saturating_sub(self.clock.now().since(arrived)) {
                        Duration::ZERO => return Verdict::Pass,
                        left => Some(left),
                    }
                }
            };
            tokio::select! {
                () = sleep(wait.unwrap_or_default()), if wait.is_some() => {}
                // The sender lives as long as `self`, so there is no error.
                _ = fault.changed() => {}
            }
        }
    }

    async fn write(&self, to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> Result<(), Stop> {
        to.write_all(bytes).await.map_err(|_| Stop::Broken)?;
        add(&self.passed, bytes.len());
        Ok(())
    }

    /// `rate` is in bytes a second.
    async fn write_at(
        &self,
        rate: u32,
        to: &mut (impl AsyncWrite + Unpin),
        bytes: &[u8],
    ) -> Result<(), Stop> {
        let step = THROTTLE_STEP.as_secs_f64() * f64::from(rate);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a u32"
        )]
        let step = (step as usize).max(1);
        for part in bytes.chunks(step) {
            self.write(to, part).await?;
            #[expect(clippy::cast_precision_loss, reason = "at most a chunk")]
            let seconds = part.len() as f64 / f64::from(rate);
            sleep(Duration::from_secs_f64(seconds)).await;
        }
        Ok(())
    }
}

/// Waits until a value that lives as long as the caller's reference is good.
pub(super) async fn wait_for<T>(value: &watch::Sender<T>, good: impl FnMut(&T) -> bool) {
    let _ = value.subscribe().wait_for(good).await;
}

fn add(counter: &watch::Sender<u64>, count: usize) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    counter.send_modify(|sum| *sum = sum.saturating_add(count));
}
