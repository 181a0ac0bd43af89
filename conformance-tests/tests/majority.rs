//! Layers compose: a throw-away majority of three backends, written on the trait alone, passes the
//! suite. It stays as the proof that a layer can be written.

use std::{
    collections::HashMap,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use conformance_tests::{Backdoor, Target};
use dlock_core::{
    AttemptId, Capabilities, Error, ErrorKind, Holder, LockName, Order, Result, Token, Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait, async_trait},
    memory::Memory,
    toolkit::Lock,
};
use rand::RngExt;

const NODES: usize = 3;
const MAJORITY: usize = NODES / 2 + 1;

/// A contender that did not get a majority tries again after at most this; at random, or two that
/// met would meet again.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// A lock is held while it is held on a majority of the nodes.
#[derive(Debug)]
struct Majority {
    nodes: [Memory; NODES],
    tokens: Arc<Tokens>,
}

/// The parts of a grant: by node, the inner request and its lease.
type Parts = [(AcquireRequest, Option<Lease>); NODES];

impl Majority {
    /// Sends one request to each node.
    async fn round(&self, request: &AcquireRequest) -> Result<Lease> {
        let left = Arc::new(AtomicUsize::new(NODES));
        let part = |node: usize| {
            let (left, outer) = (left.clone(), request.attempt.clone());
            let on_lost = move |cause| {
                if left.fetch_sub(1, Ordering::SeqCst) == MAJORITY {
                    outer.report_lost(cause);
                }
            };
            let inner = request.nested(on_lost).with_wait(Wait::Never);
            async move {
                let answer = self.nodes[node].acquire(&inner).await;
                (inner, answer)
            }
        };
        let (first, second, third) = tokio::join!(part(0), part(1), part(2));
        let mut refused = None;
        let parts: Parts = [first, second, third].map(|(inner, answer)| {
            let lease = answer.map_err(|error| refused = Some(error)).ok();
            (inner, lease)
        });
        let granted = parts.iter().filter(|(_, lease)| lease.is_some()).count();
        left.fetch_sub(NODES - granted, Ordering::SeqCst);
        let deadlines = parts
            .iter()
            .flat_map(|(_, lease)| lease)
            .map(|lease| lease.deadline);
        let Some(deadline) = sufficient(deadlines.collect()) else {
            self.free(&parts).await?;
            return Err(refused.unwrap_or_else(Error::contended));
        };
        let token = self.tokens.of(request.attempt.id())?;
        Ok(request.granted_until(deadline, token, parts))
    }

    async fn free(&self, parts: &Parts) -> Result<()> {
        let free = |node: usize| async move {
            let (request, lease) = &parts[node];
            request.cancel_nested();
            match lease {
                Some(lease) => self.nodes[node].release(lease).await,
                None => Ok(()),
            }
        };
        let (first, second, third) = tokio::join!(free(0), free(1), free(2));
        first.and(second).and(third)
    }
}

/// The last moment that a majority reaches, if there is one.
fn sufficient<T: Ord + Copy>(mut deadlines: Vec<T>) -> Option<T> {
    deadlines.sort_unstable();
    deadlines.iter().rev().nth(MAJORITY - 1).copied()
}

fn parts(lease: &Lease) -> Result<&Parts> {
    lease
        .handle()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "another backend's lease"))
}

#[async_trait]
impl DistributedLock for Majority {
    fn capabilities(&self) -> Capabilities {
        let inner = self.nodes[0].capabilities();
        Capabilities {
            backend: "majority",
            order: Order::Unordered,
            waiting: Waiting::Polled,
            takeover_max: inner.takeover_max + PAUSE_MAX,
            ..inner
        }
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        loop {
            match self.round(request).await {
                Err(error) if error.kind() == ErrorKind::Contended => {
                    request.attempt.report_contended()
                }
                other => return other,
            }
            if request.wait == Wait::Never {
                return Err(Error::contended());
            }
            let pause = rand::rng().random_range(Duration::ZERO..PAUSE_MAX);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = request.attempt.cancelled() => return Err(Error::cancelled()),
            }
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let parts = parts(lease)?;
        let renew = |node: usize| async move {
            match &parts[node].1 {
                Some(lease) => self.nodes[node].renew(lease).await.map(Some),
                None => Ok(None),
            }
        };
        let (first, second, third) = tokio::join!(renew(0), renew(1), renew(2));
        let (mut deadlines, mut unknown, mut lost) = (Vec::new(), None, None);
        for answer in [first, second, third] {
            match answer {
                Ok(Some(Renewed::Until(deadline))) => deadlines.push(deadline),
                Ok(Some(Renewed::Lost(cause))) => lost = Some(cause),
                Ok(_) => {}
                Err(error) => unknown = Some(error),
            }
        }
        match (sufficient(deadlines), unknown, lost) {
            (Some(deadline), ..) => Ok(Renewed::Until(deadline)),
            (None, None, Some(cause)) => Ok(Renewed::Lost(cause)),
            (None, unknown, _) => {
                Err(unknown.unwrap_or_else(|| Error::new(ErrorKind::Unavailable, "no majority")))
            }
        }
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.free(parts(lease)?).await?;
        self.tokens.forget(lease.id());
        Ok(())
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let mut seen: HashMap<_, usize> = HashMap::new();
        for node in &self.nodes {
            let Some(mut holder) = node.inspect(name).await? else {
                continue;
            };
            let Some(id) = holder.attempt else { continue };
            let count = seen.entry(id).or_default();
            *count += 1;
            if *count == MAJORITY {
                holder.token = Some(self.tokens.of(id)?);
                return Ok(Some(holder));
            }
        }
        Ok(None)
    }

    async fn close(&self) -> Result<()> {
        for node in &self.nodes {
            node.close().await?;
        }
        Ok(())
    }
}

/// Tokens of a majority need a second round that writes them to the nodes, which only they can offer. Here all
/// clients are in one process and count together. The count is read while a majority is held, so it grows in the
/// order of grants.
#[derive(Debug, Default)]
struct Tokens(Lock<(u64, HashMap<AttemptId, u64>)>);

impl Tokens {
    fn of(&self, id: AttemptId) -> Result<Token> {
        let (last, known) = &mut *self.0.lock();
        let token = known.entry(id).or_insert_with(|| {
            *last += 1;
            *last
        });
        Token::new(*token).ok_or_else(|| Error::new(ErrorKind::Internal, "no token"))
    }

    fn forget(&self, id: AttemptId) {
        self.0.lock().1.remove(&id);
    }
}

/// The stores of all cases, by address.
#[derive(Debug, Default)]
struct MajorityTarget(Lock<Vec<([Memory; NODES], Arc<Tokens>)>>);

impl MajorityTarget {
    fn client(&self, address: &str) -> Result<Majority> {
        let stores = self.0.lock();
        let store = address
            .parse()
            .ok()
            .and_then(|index: usize| stores.get(index));
        let no_store = || Error::new(ErrorKind::InvalidConfig, format!("no store at {address:?}"));
        let (nodes, tokens) = store.ok_or_else(no_store)?;
        Ok(Majority {
            nodes: nodes.clone(),
            tokens: tokens.clone(),
        })
    }
}

#[async_trait]
impl Target for MajorityTarget {
    fn name(&self) -> &str {
        "majority"
    }

    fn capabilities(&self) -> Capabilities {
        let nodes = [(); NODES].map(|()| Memory::new());
        Majority {
            nodes,
            tokens: Arc::default(),
        }
        .capabilities()
    }

    async fn address(&self) -> Result<String> {
        let mut stores = self.0.lock();
        stores.push(([(); NODES].map(|()| Memory::new()), Arc::default()));
        Ok((stores.len() - 1).to_string())
    }

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
        Ok(Box::new(self.client(address)?))
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }
}

#[async_trait]
impl Backdoor for MajorityTarget {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        // A majority of them, as one node can be spared.
        for node in &self.client(address)?.nodes[..MAJORITY] {
            node.expire(name.as_str());
        }
        Ok(())
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let names = self
            .client(address)?
            .nodes
            .iter()
            .flat_map(Memory::names)
            .collect::<Vec<_>>();
        Ok(names.iter().map(ToString::to_string).collect())
    }
}

fn main() -> ExitCode {
    conformance_tests::main(vec![Arc::new(MajorityTarget::default())])
}
