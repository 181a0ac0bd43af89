//! Where and how a run was measured, and how quiet the machine was.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The machine that the clients ran on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Machine {
    /// How many processor cores this process may use.
    pub cores: u32,
    /// The model of the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// The memory of the machine, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Name and version of the kernel, such as `Linux 6.1.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cores {
            1 => f.write_str("1 core")?,
            cores => write!(f, "{cores} cores")?,
        }
        let rest = [&self.processor, &self.kernel].into_iter().flatten();
        rest.into_iter().try_for_each(|part| write!(f, ", {part}"))
    }
}

/// The settings of a run: the workloads and how they were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Settings {
    /// How long the whole run might take.
    pub run_for_ms: u64,
    /// Whether all workloads were measured, or the default ones.
    pub all: bool,
    /// Whether the run started the servers itself.
    pub local: bool,
    /// The numbers of tasks of the cycles.
    pub tasks: Vec<u32>,
    /// How long each side of each store runs in a round.
    pub slice_ms: u64,
    /// The pause before each slice.
    pub settle_ms: u64,
    /// How often the rounds are drawn again for an interval.
    pub resamples: u32,
    /// A run is settled when no half-width is larger: `0.03` is ± 3 %.
    pub half_width_max: f64,
    /// Whether idle cores were kept from sleeping while latencies were measured. Earlier versions never did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awake: Option<Awake>,
}

/// Whether idle cores were kept from sleeping in the workloads that have one request at a time. There the time of a
/// core to wake up is a part of each request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Awake {
    /// So many cores, by a process of the scheduling class `SCHED_IDLE`.
    Cores(u32),
    /// None, for this reason.
    Not(String),
}

/// How much of a difference is noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Noise {
    /// The verdict.
    pub badge: Badge,
    /// By how much the same thing differed that was measured twice, the largest of all stores: `0.017` is 1.7 %.
    pub same_twice: f64,
    /// The part of the processor time that the hypervisor took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// The part of the processor time that other processes used: neither this run nor the local servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_cpu: Option<f64>,
    /// Why the machine was noisy, each as a short sentence; empty if it was quiet.
    pub reasons: Vec<String>,
}

/// The begin of the reason that the same thing differed that was measured twice.
pub(crate) const SAME_TWICE: &str = "the same thing twice differs by";

impl Noise {
    /// Whether one of the reasons has [`same_twice`](Self::same_twice) in it.
    pub(crate) fn names_same_twice(&self) -> bool {
        self.reasons
            .iter()
            .any(|reason| reason.starts_with(SAME_TWICE))
    }

    /// Whether one number is larger than another by more than the noise.
    pub(crate) fn is_beyond(&self, larger: f64, smaller: f64) -> bool {
        larger > smaller * (1.0 + self.same_twice.max(0.0))
    }
}

/// Whether rates can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Badge {
    /// Rates can be compared.
    Quiet,
    /// Rates depend on what else the machine did; ratios of processor time lead.
    Noisy,
}
