//! The fields of `INFO`.

use std::{collections::HashMap, str::FromStr};

/// The fields of `INFO`, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Info(HashMap<String, String>);

impl Info {
    pub(super) fn parse(text: &str) -> Self {
        let fields = text
            .lines()
            .filter_map(|line| line.trim_end().split_once(':'));
        Self(
            fields
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    /// The value of a field; empty if there is none.
    pub(super) fn text(&self, field: &str) -> &str {
        self.0.get(field).map_or("", String::as_str)
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    /// The value of a field that is a number.
    pub(super) fn number<T: FromStr>(&self, field: &str) -> Option<T> {
        self.text(field).parse().ok()
    }

    /// The fields whose names begin with `prefix`, without it.
    pub(super) fn with_prefix<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .iter()
            .filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value.as_str())))
    }

    /// The replicas: each as the fields of its line, `ip=…,port=…,state=online`.
    pub(super) fn replicas(&self) -> Vec<HashMap<&str, &str>> {
        let lines = self.with_prefix("slave");
        let lines = lines.filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
        lines.map(|(_, line)| fields(line)).collect()
    }

    /// The number of replicas that follow.
    pub(super) fn replicas_online(&self) -> u64 {
        let replicas = self.replicas();
        let online = replicas
            .iter()
            .filter(|replica| replica.get("state") == Some(&"online"));
        online.count() as u64
    }
}

/// The fields of a line `a=1,b=2`.
pub(super) fn fields(line: &str) -> HashMap<&str, &str> {
    line.split(',')
        .filter_map(|field| field.split_once('='))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_read_from_their_lines() {
        let info = Info::parse(
            "# Replication\r\nrole:master\r\nconnected_slaves:2\r\n\
             slave0:ip=127.0.0.1,port=1,state=online,offset=14,lag=0\r\n\
             slave1:ip=127.0.0.1,port=2,state=wait_bgsave,offset=0,lag=0\r\nslave_expires:3\r\n",
        );
        assert_eq!(info.replicas().len(), 2);
        assert_eq!(info.replicas_online(), 1);
        assert_eq!(info.number::<u64>("connected_slaves"), Some(2));
        assert_eq!(info.text("missing"), "");
    }
}
