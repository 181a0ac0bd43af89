//! The `token_base` that a new store needs.

use dlock_core::LockerBuilder;

/// All tokens of dlock's stores are below this. Those of Redis end there by the script. Files count from the time in
/// microseconds, until the year 2255; MySQL from the time in seconds, times 2^20, until 2242. Revisions of etcd and
/// transaction ids of ZooKeeper, 2^32 for each leader, do not come so far in practice.
const TOKENS_END: u64 = 1 << 53;

const BASE_MAX: u64 = LockerBuilder::TOKEN_BASE_MAX;

/// The least `token_base=` of a new store, if the one named `old` has `base`; `None` if `old` is not one of dlock's, or
/// no number is large enough. A store is named by its scheme, or by
/// [`Capabilities::backend`](dlock_core::Capabilities).
///
/// ```
/// use dlock_layers::migrate::token_base;
///
/// assert_eq!(token_base("redis", 0), Some(9_007_199_254_740_992));
/// assert_eq!(token_base("memory", 0), None);
/// ```
#[must_use]
pub fn token_base(old: &str, base: u64) -> Option<u64> {
    let stores = ["redis", "file", "etcd", "zk", "mysql", "mariadb"];
    if !stores.iter().any(|name| old.starts_with(name)) {
        return None;
    }
    let least = base.checked_add(TOKENS_END)?;
    (least <= BASE_MAX).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_of_chains_add_up() {
        for store in ["redis-sentinel", "file", "etcd", "zks", "mysql", "mariadb"] {
            assert_eq!(token_base(store, 0), Some(TOKENS_END), "{store}");
            assert_eq!(token_base(store, TOKENS_END), Some(TOKENS_END * 2));
            assert_eq!(token_base(store, BASE_MAX - TOKENS_END), Some(BASE_MAX));
            assert_eq!(token_base(store, BASE_MAX - TOKENS_END + 1), None);
        }
        assert_eq!(token_base("redis", u64::MAX), None);
        assert_eq!(token_base("jobs", 0), None);
    }
}
