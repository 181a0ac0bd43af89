//! The random numbers of core: of the system, or of a seed in a simulation.

#[cfg(feature = "simulation")]
use std::cell::Cell;

#[cfg(feature = "simulation")]
thread_local! {
    /// The state of this thread's generator; `None` for the system's.
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Makes the random numbers that core uses on this thread follow from `seed`, so that a simulation can be
/// repeated; with `None` they are the system's again.
///
/// The identities of attempts are predictable then: for tests only.
///
/// ```
/// dlock_core::simulation::seed(Some(7));
/// // … the simulation …
/// dlock_core::simulation::seed(None);
/// ```
#[cfg(feature = "simulation")]
pub fn seed(seed: Option<u64>) {
    STATE.set(seed);
}

/// A random identity.
pub(crate) fn id() -> u128 {
    u128::from(next()) << 64 | u128::from(next())
}

/// A random number from 0 to 1, for pauses that spread the requests of many clients. It is no secret.
///
/// In a simulation it follows from the seed.
///
/// ```
/// use dlock_core::toolkit::random_fraction;
///
/// assert!((0.0..=1.0).contains(&random_fraction()));
/// ```
#[must_use]
pub fn fraction() -> f64 {
    f64::from(u32::try_from(next() >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}

#[cfg(not(feature = "simulation"))]
fn next() -> u64 {
    rand::random()
}

/// `SplitMix64` (Steele, Lea and Flood, 2014) if this thread has a seed.
#[cfg(feature = "simulation")]
fn next() -> u64 {
    let Some(state) = STATE.get() else {
        return rand::random();
    };
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(Some(state));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
