//! Where the stores of two URLs are: one server must not be two nodes of a quorum.

use std::path::{Path, PathBuf};

use dlock_core::config::{BackendUrl, Host};

/// The first server, or directory, that both URLs lead to.
pub(super) fn common_place(one: &BackendUrl, other: &BackendUrl) -> Option<String> {
    let places = of(one);
    of(other).into_iter().find(|place| places.contains(place))
}

/// The places of a URL: its servers, or its path if it has none. A store without both is a new one for each URL.
fn of(url: &BackendUrl) -> Vec<String> {
    if url.hosts().is_empty() {
        return match url.path() {
            "" => Vec::new(),
            path => {
                // Without slashes that are there twice, or at the end.
                let path: PathBuf = Path::new(path).components().collect();
                vec![format!("{}:{}", url.scheme(), path.display())]
            }
        };
    }
    // Sentinels watch several masters, each by a name.
    let master = match url.scheme() {
        "redis-sentinel" | "rediss-sentinel" => url.path().split('/').find(|part| !part.is_empty()),
        _ => None,
    };
    let server = |host: &Host| {
        let name = host.name.to_ascii_lowercase();
        let server = match host.port.or_else(|| default_port(url.scheme())) {
            Some(port) => format!("{name}:{port}"),
            None => name,
        };
        match master {
            Some(master) => format!("{server}/{master}"),
            None => server,
        }
    };
    url.hosts().iter().map(server).collect()
}

/// The port of a URL without one, by which it is the same as a URL with it.
fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "redis" | "rediss" | "redis-cluster" | "rediss-cluster" => Some(6379),
        "redis-sentinel" | "rediss-sentinel" => Some(26379),
        "etcd" | "etcds" => Some(2379),
        "zk" | "zks" => Some(2181),
        "mysql" | "mariadb" => Some(3306),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_is_found_however_it_is_written() {
        let of = |one: &str, other: &str| {
            let parse = |url| BackendUrl::parse(url).expect(url);
            common_place(&parse(one), &parse(other))
        };
        assert_eq!(of("redis://a", "redis://b"), None);
        assert_eq!(of("redis://a:1", "redis://a:2"), None);
        assert_eq!(of("memory:", "memory:"), None);
        assert_eq!(of("file:/a", "file:/b"), None);
        let same = |text: &str| Some(text.to_owned());
        assert_eq!(of("redis://a", "rediss://A:6379/1"), same("a:6379"));
        assert_eq!(of("etcd://a,b", "etcd://c,b?prefix=x"), same("b:2379"));
        assert_eq!(of("file:/a", "file:/a?prefix=x"), same("file:/a"));
        assert_eq!(of("zk://a", "zks://A:2181"), same("a:2181"));
        assert_eq!(of("file:/a/b", "file:/a//b/"), same("file:/a/b"));
        assert_eq!(of("redis-sentinel://s/a", "redis-sentinel://s/b"), None);
        let main = same("s:26379/main");
        assert_eq!(
            of("redis-sentinel://s/main/1", "redis-sentinel://s/main"),
            main
        );
        assert_eq!(
            of("redis-sentinel://r,s/main", "redis-sentinel://s/main"),
            main
        );
    }
}
