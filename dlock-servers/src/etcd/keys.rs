//! The keys of a member, read without its clients' connections.

use std::io;

use serde_json::{Value, json};

use super::{Node, base64};

/// A key with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The value of the key.
    pub value: String,
    /// The revision in which it was made.
    pub create_revision: u64,
    /// The lease that it ends with; 0 for none.
    pub lease: u64,
}

impl Node {
    /// All keys that begin with `prefix`, in the order of their creation.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn keys(&self, prefix: &str) -> io::Result<Vec<Entry>> {
        let (key, range_end) = range(prefix);
        let request = json!({"key": key, "range_end": range_end, "sort_target": "CREATE"});
        let answer = self.call("/v3/kv/range", &request).await?;
        let entries = answer["kvs"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(entries.iter().map(entry).collect())
    }

    /// Sets a key that ends with nothing.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn put(&self, key: &str, value: &str) -> io::Result<()> {
        let [key, value] = [key, value].map(|text| base64::encode(text.as_bytes()));
        let request = json!({"key": key, "value": value});
        self.call("/v3/kv/put", &request).await.map(drop)
    }

    /// Deletes one key.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn delete(&self, key: &str) -> io::Result<()> {
        let request = json!({"key": base64::encode(key.as_bytes())});
        self.call("/v3/kv/deleterange", &request).await.map(drop)
    }

    /// Deletes all keys that begin with `prefix`, in one revision.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn delete_all(&self, prefix: &str) -> io::Result<()> {
        let (key, range_end) = range(prefix);
        let request = json!({"key": key, "range_end": range_end});
        self.call("/v3/kv/deleterange", &request).await.map(drop)
    }

    /// The revision of the last change.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn revision(&self) -> io::Result<u64> {
        let request = json!({"key": base64::encode(b"x")});
        let answer = self.call("/v3/kv/range", &request).await?;
        Ok(number(&answer["header"]["revision"]))
    }

    /// Forgets the history up to the present.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn compact(&self) -> io::Result<()> {
        let revision = self.revision().await?.to_string();
        let request = json!({"revision": revision, "physical": true});
        self.call("/v3/kv/compaction", &request).await.map(drop)
    }

    /// As [`compact`](Node::compact); that another member did it already is not an error.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn compact_unless_done(&self) -> io::Result<()> {
        match self.compact().await {
            Err(error) if error.to_string().contains("has been compacted") => Ok(()),
            compacted => compacted,
        }
    }

    /// All leases.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn leases(&self) -> io::Result<Vec<u64>> {
        let answer = self.call("/v3/lease/leases", &json!({})).await?;
        let leases = answer["leases"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(leases.iter().map(|lease| number(&lease["ID"])).collect())
    }

    /// Ends a lease, with its keys.
    ///
    /// # Errors
    ///
    /// As [`call`](Node::call).
    pub async fn revoke(&self, lease: u64) -> io::Result<()> {
        let request = json!({"ID": lease.to_string()});
        self.call("/v3/lease/revoke", &request).await.map(drop)
    }
}

fn range(prefix: &str) -> (String, String) {
    // All keys, if there is nothing to begin with.
    let mut end = prefix.as_bytes().to_vec();
    match end.last_mut() {
        Some(last) => *last += 1,
        None => return (base64::encode(b"\0"), base64::encode(b"\0")),
    }
    (base64::encode(prefix.as_bytes()), base64::encode(&end))
}

fn entry(kv: &Value) -> Entry {
    let text = |field: &str| {
        let bytes = base64::decode(kv[field].as_str().unwrap_or_default());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    Entry {
        key: text("key"),
        value: text("value"),
        create_revision: number(&kv["create_revision"]),
        lease: number(&kv["lease"]),
    }
}

/// JSON has no such large numbers, so they are texts; zero is left out.
fn number(value: &Value) -> u64 {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}
