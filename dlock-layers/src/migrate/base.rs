//! The `token_base` that a new store needs.

/// Tokens of Redis stay below 2^53 by the script, those of files until the year 2255. Revisions of etcd and transaction
/// ids of ZooKeeper do not come so far in practice.
const USUAL_END: u64 = 1 << 53;

/// Tokens of MySQL are `epoch · 2^31 + count`, and the epoch is a time in seconds: below this until 2038.
const MYSQL_END: u64 = 1 << 62;

/// Where the tokens of MySQL begin: its epoch is not before this crate.
const MYSQL_BEGIN: u64 = 1_700_000_000 << 31;

/// The least `token_base=` of the store `new`, if `old` has `base`; `None` if `old` is not one of dlock's, or no number is
/// large enough. A store is named by its scheme, or by [`Capabilities::backend`](dlock_core::Capabilities).
///
/// ```
/// use dlock_layers::migrate::token_base;
///
/// assert_eq!(token_base("redis", 0, "etcd"), Some(9_007_199_254_740_992));
/// assert_eq!(token_base("redis", 0, "mysql"), Some(0));
/// ```
#[must_use]
pub fn token_base(old: &str, base: u64, new: &str) -> Option<u64> {
    let is_usual = ["redis", "file", "etcd", "zk"]
        .iter()
        .any(|name| old.starts_with(name));
    let end = match old {
        _ if is_mysql(old) => MYSQL_END,
        _ if is_usual => USUAL_END,
        _ => return None,
    };
    let end = base.checked_add(end)?;
    let begin = if is_mysql(new) { MYSQL_BEGIN } else { 0 };
    Some(end.saturating_sub(begin)).filter(|base| *base <= MYSQL_END)
}

fn is_mysql(store: &str) -> bool {
    store == "mysql" || store == "mariadb"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_of_chains_add_up() {
        assert_eq!(token_base("etcd", USUAL_END, "redis"), Some(USUAL_END * 2));
        assert_eq!(token_base("file", 0, "zk"), Some(USUAL_END));
        assert_eq!(token_base("mysql", 0, "redis"), Some(MYSQL_END));
        assert_eq!(token_base("mysql", 1, "redis"), None);
        assert_eq!(token_base("jobs", 0, "redis"), None);
        assert_eq!(token_base("redis-sentinel", 0, "mariadb"), Some(0));
        assert_eq!(token_base("mariadb", 0, "zks"), Some(MYSQL_END));
        let chained = token_base("mysql", 0, "mysql").expect("another server");
        assert!(chained + MYSQL_BEGIN >= MYSQL_END);
    }
}
