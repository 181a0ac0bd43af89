//! The figures of `cargo xtask peers`, as far as the tables show them.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(in crate::measured) struct Peers {
    pub(super) stores: Vec<Store>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Store {
    pub(super) store: String,
    pub(super) server: String,
    pub(super) begun_at: String,
    pub(super) machine: Machine,
    /// None in runs that did not keep them awake.
    pub(super) awake: Option<Awake>,
    pub(super) rounds: u32,
    pub(super) seconds: f64,
    pub(super) contention_seconds: Option<f64>,
    #[serde(default)]
    pub(super) delay_ms: f64,
    pub(super) round_trip_ms: Option<Interval>,
    pub(super) clients: Vec<Client>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Awake {
    Cores(serde::de::IgnoredAny),
    Not(String),
}

#[derive(Debug, Deserialize)]
pub(super) struct Machine {
    pub(super) cores: u32,
    pub(super) processor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) language: String,
    pub(super) token: String,
    pub(super) renewal: String,
    pub(super) wake_up: String,
    pub(super) settings: String,
    pub(super) version: Option<String>,
    pub(super) missing: Option<String>,
    pub(super) again: bool,
    pub(super) one: Option<Cycles>,
    pub(super) many: Option<Cycles>,
    pub(super) once_one: Option<Cycles>,
    pub(super) once_many: Option<Cycles>,
    pub(super) apart: Option<Cycles>,
    pub(super) hand_over: Option<HandOver>,
    pub(super) contended: Option<Contended>,
    #[serde(default)]
    pub(super) herds: Vec<Herd>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Cycles {
    pub(super) of_raw: Option<Ratios>,
    pub(super) of_floor: Option<Interval>,
    pub(super) of_again: Option<Interval>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Ratios {
    pub(super) per_second: Interval,
    pub(super) client_cpu: Option<Interval>,
    pub(super) server_cpu: Option<Interval>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HandOver {
    pub(super) median_ms: f64,
    pub(super) round_trips: Option<Interval>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Contended {
    pub(super) moved_per_second: Interval,
    pub(super) jain: Interval,
    pub(super) shares: Option<Shares>,
    pub(super) longest_wait_ms: f64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Herd {
    pub(super) clients: u32,
    pub(super) hold_ms: f64,
    pub(super) tries: Interval,
    pub(super) moved_per_second: Interval,
    pub(super) jain: Interval,
    pub(super) shares: Option<Shares>,
    pub(super) longest_wait_ms: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Shares {
    pub(super) least: f64,
    pub(super) greatest: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Interval {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) sure: Option<[f64; 2]>,
}

impl Store {
    pub(super) fn measured(&self) -> impl Iterator<Item = &Client> {
        let clients = self.clients.iter();
        clients.filter(|client| client.missing.is_none())
    }
}

impl Client {
    pub(super) fn shown_name(&self) -> String {
        match self.again {
            true => format!("{}, again", self.name),
            false => self.name.clone(),
        }
    }
}
