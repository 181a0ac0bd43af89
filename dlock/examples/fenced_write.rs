//! The reason why a write carries the fencing token. A holder that was paused for longer than its lease writes
//! late, while it still believes that it holds the lock. The resource refuses, and nothing is lost.
//!
//! `cargo run -p dlock-rs --example fenced_write`

#![expect(clippy::print_stdout, reason = "an example talks")]

use std::{
    error::Error,
    fs,
    io::{self, Read, Seek, Write},
    path::Path,
};

use dlock::{Locker, Memory, Token};

/// A document that accepts a write only with a token at least as large as the largest it has seen.
///
/// In SQL the same is `UPDATE document SET text = :text, token = :token WHERE token <= :token`.
struct FencedFile(fs::File);

impl FencedFile {
    fn open(path: &Path) -> io::Result<Self> {
        let options = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        options.map(Self)
    }

    /// Writes `text`; false when a later holder of the lock has written already.
    fn write(&mut self, token: Token, text: &str) -> io::Result<bool> {
        // Compare and write are one step to other writers: the resource's own business, and short.
        self.0.lock()?;
        let written = self.compare_and_write(token, text);
        self.0.unlock()?;
        written
    }

    fn compare_and_write(&mut self, token: Token, text: &str) -> io::Result<bool> {
        if token.get() < self.read()?.0 {
            return Ok(false);
        }
        self.0.rewind()?;
        self.0.set_len(0)?;
        write!(self.0, "{token}\n{text}")?;
        Ok(true)
    }

    /// The largest token so far, and the text.
    fn read(&mut self) -> io::Result<(u64, String)> {
        let mut content = String::new();
        self.0.rewind()?;
        self.0.read_to_string(&mut content)?;
        let (token, text) = content.split_once('\n').unwrap_or(("0", ""));
        let token = token
            .parse()
            .map_err(|_| io::Error::other("no token on the first line"))?;
        Ok((token, text.to_owned()))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut document = FencedFile::open(&directory.path().join("document"))?;

    // A store that can be made to misbehave, and two clients of it.
    let store = Memory::new();
    let alice = Locker::builder(store.clone()).build()?;
    let bob = Locker::builder(store.clone()).build()?;

    let slow = alice.acquire("document").await?;
    println!("alice holds it under token {}", slow.token());

    // Her process is paused. Her lease ends in the store, and Bob gets the lock.
    store.expire("document");
    let quick = bob.acquire("document").await?;
    println!("bob holds it under token {}", quick.token());
    assert!(document.write(quick.token(), "by bob")?);

    // She wakes up. She has no notification yet, so a check of the guard alone would not have helped.
    println!("alice believes that she holds it: {}", slow.is_held());
    let accepted = document.write(slow.token(), "by alice, late")?;
    println!(
        "her late write was {}",
        if accepted { "accepted" } else { "refused" }
    );
    println!("the document is {:?}", document.read()?.1);
    assert!(!accepted, "the resource must refuse a smaller token");
    Ok(())
}
