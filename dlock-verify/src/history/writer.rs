//! Writes a history event by event.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use super::{event::Event, header::Header};

/// A history that is written: a header, then one event a line (JSON Lines).
///
/// ```
/// use std::time::Duration;
///
/// use dlock_core::{backend::DistributedLock, memory::Memory};
/// use dlock_verify::history::{Event, EventKind, Header, Reader, Writer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let capabilities = Memory::new().capabilities();
/// let header = Header::new(7, Duration::from_secs(2), &capabilities);
/// let mut writer = Writer::new(Vec::new(), &header)?;
/// let event = Event::new(5, 1, EventKind::Killed);
/// writer.record(&event)?;
///
/// let written = writer.finish()?;
/// let reader = Reader::new(&written[..])?;
/// assert_eq!(reader.header(), &header);
/// assert_eq!(reader.collect::<Result<Vec<_>, _>>()?, [event]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Writer<W>(W);

impl Writer<BufWriter<File>> {
    /// Begins a history in a new file.
    ///
    /// # Errors
    ///
    /// When the file exists, or cannot be written.
    ///
    /// # Blocking
    ///
    /// Until the system has made the file.
    pub fn create(path: &Path, header: &Header) -> io::Result<Self> {
        Self::new(BufWriter::new(File::create_new(path)?), header)
    }
}

impl<W: Write> Writer<W> {
    /// Begins a history in `target`, which should be buffered.
    ///
    /// # Errors
    ///
    /// When `target` cannot be written.
    ///
    /// # Blocking
    ///
    /// As `target` does.
    pub fn new(mut target: W, header: &Header) -> io::Result<Self> {
        serde_json::to_writer(&mut target, header)?;
        target.write_all(b"\n")?;
        Ok(Self(target))
    }

    /// Writes one event.
    ///
    /// # Errors
    ///
    /// When the target cannot be written.
    ///
    /// # Blocking
    ///
    /// As the target does.
    pub fn record(&mut self, event: &Event) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, event)?;
        self.0.write_all(b"\n")
    }

    /// Writes what is buffered, and returns the target.
    ///
    /// # Errors
    ///
    /// When the target cannot be written.
    ///
    /// # Blocking
    ///
    /// As the target does.
    pub fn finish(mut self) -> io::Result<W> {
        self.0.flush()?;
        Ok(self.0)
    }
}
