//! The names of stores in tables.

/// The backend's name for each store, with a number where several have the same.
pub(crate) fn labels(backends: &[String]) -> Vec<String> {
    let label = |(at, backend): (usize, &String)| {
        let before = backends[..at]
            .iter()
            .filter(|other| *other == backend)
            .count();
        let is_alone = backends.iter().filter(|other| *other == backend).count() == 1;
        match is_alone {
            true => backend.clone(),
            false => format!("{backend}-{}", before + 1),
        }
    };
    backends.iter().enumerate().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_are_numbered() {
        let backends = ["redis", "etcd", "redis"].map(str::to_owned);
        assert_eq!(labels(&backends), ["redis-1", "etcd", "redis-2"]);
    }
}
