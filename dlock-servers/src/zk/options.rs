//! How a server is set up.

use std::time::Duration;

use crate::Certificates;

/// How a server is set up; by default as it comes, with the stock tick.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests write it as a literal")]
pub struct Options {
    /// `tickTime`.
    pub tick: Duration,
    /// Whether there is a second port for encrypted connections, whose clients need a certificate.
    pub has_tls: bool,
    /// Further lines for the configuration file, such as `maxClientCnxns=3`.
    pub lines: Vec<String>,
    /// Further properties of Java, such as `readonlymode.enabled=true`.
    pub properties: Vec<String>,
    /// How Java is set up.
    pub java: Tuning,
}

/// How Java and the server's disk are set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other way")]
pub enum Tuning {
    /// Little memory, a quick start, and no waiting for the disk: for tests, which do not cut the power.
    #[default]
    Small,
    /// As it comes.
    Stock,
}

impl Options {
    /// Makes options with a tick of that length.
    #[must_use]
    pub fn with_tick(tick: Duration) -> Self {
        Self {
            tick,
            ..Self::default()
        }
    }

    /// Makes options of a server as it is installed: with Java's own bounds, and each change on the disk before its
    /// answer.
    #[must_use]
    pub fn stock() -> Self {
        Self {
            java: Tuning::Stock,
            ..Self::default()
        }
    }

    pub(super) fn configuration(
        &self,
        data: &str,
        port: u16,
        secure: Option<(u16, &Certificates, &str)>,
    ) -> Vec<String> {
        let mut lines = vec![
            format!("tickTime={}", self.tick.as_millis()),
            "initLimit=10".to_owned(),
            "syncLimit=5".to_owned(),
            format!("dataDir={data}"),
            "clientPortAddress=127.0.0.1".to_owned(),
            format!("clientPort={port}"),
            "maxClientCnxns=0".to_owned(),
            "4lw.commands.whitelist=*".to_owned(),
        ];
        if let Some((port, certificates, identity)) = secure {
            lines.extend([
                "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory".to_owned(),
                "secureClientPortAddress=127.0.0.1".to_owned(),
                format!("secureClientPort={port}"),
                "ssl.keyStore.type=PEM".to_owned(),
                format!("ssl.keyStore.location={identity}"),
                "ssl.trustStore.type=PEM".to_owned(),
                format!("ssl.trustStore.location={}", certificates.ca().display()),
            ]);
        }
        lines.extend(self.lines.iter().cloned());
        lines
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tick: Duration::from_secs(2),
            has_tls: false,
            lines: Vec::new(),
            properties: Vec::new(),
            java: Tuning::Small,
        }
    }
}
