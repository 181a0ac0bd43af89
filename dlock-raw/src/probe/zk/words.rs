//! Replies to the commands of four letters.

use std::{collections::HashMap, io, str::FromStr};

use crate::driver::zk::{Address, Servers};

/// The right that commands need.
pub(super) const WHITELIST: &str =
    "4lw.commands.whitelist=srvr,conf,mntr,isro in zoo.cfg, or its AdminServer at port 8080";

/// A reply, or why there is none.
pub(super) type Reply = Result<Fields, String>;

/// The fields of a reply: `conf` has `key=value`, `mntr` a tab, and `srvr` a colon between.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(HashMap<String, String>);

impl Fields {
    pub(super) fn parse(text: &str) -> Self {
        let fields = text.lines().filter_map(|line| {
            let (key, value) = line.split_once(['=', '\t', ':'])?;
            Some((key.trim().to_owned(), value.trim().to_owned()))
        });
        Self::of(fields)
    }

    pub(super) fn of(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(fields.into_iter().collect())
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.0.get(field).map_or("", String::as_str)
    }

    pub(super) fn number<T: FromStr>(&self, field: &str) -> Option<T> {
        self.text(field).parse().ok()
    }

    /// How many fields begin so.
    pub(super) fn count(&self, prefix: &str) -> usize {
        self.0.keys().filter(|key| key.starts_with(prefix)).count()
    }
}

/// The reply to `word`.
pub(super) async fn read(servers: &Servers, address: &Address, word: &str) -> Reply {
    match command(servers, address, word).await {
        Ok(text) => Ok(Fields::parse(&text)),
        Err(error) => Err(error.to_string()),
    }
}

/// The text of the reply to `word`; an error if the server refuses the command.
pub(super) async fn command(
    servers: &Servers,
    address: &Address,
    word: &str,
) -> io::Result<String> {
    let text = servers.command(address, word).await?;
    if text.contains("not in the whitelist") || text.trim().is_empty() {
        return Err(io::Error::other(format!(
            "{word} is not in the server's whitelist"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_are_read() {
        let fields = Fields::parse(
            "Zookeeper version: 3.8.0-x, built on 2024\nLatency min/avg/max: 0/0.5/9\n\
             tickTime=2000\nserver.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4\nzk_cnt_fsynctime\t7\n",
        );
        assert_eq!(fields.text("Zookeeper version"), "3.8.0-x, built on 2024");
        assert_eq!(fields.text("Latency min/avg/max"), "0/0.5/9");
        assert_eq!(fields.number::<u64>("tickTime"), Some(2_000));
        assert_eq!(fields.number::<u64>("zk_cnt_fsynctime"), Some(7));
        assert_eq!(fields.count("server."), 2);
    }
}
