//! The contract's test suite on the store of this package.

use std::{io, process::ExitCode, sync::Arc};

use async_trait::async_trait;
use conformance_tests::{Reach, Target};
use dlock_core::{Capabilities, Error, ErrorKind, Result, backend::DistributedLock, toolkit::Lock};
use dlock_own_store::Ledger;
use tempfile::TempDir;

/// Each case has a directory for itself.
#[derive(Debug, Default)]
struct Ledgers(Lock<Vec<TempDir>>);

#[async_trait]
impl Target for Ledgers {
    fn name(&self) -> &str {
        Ledger::CAPABILITIES.backend
    }

    fn capabilities(&self) -> Capabilities {
        Ledger::CAPABILITIES
    }

    async fn address(&self) -> Result<String> {
        let directory = TempDir::new().map_err(failed)?;
        let address = directory.path().to_string_lossy().into_owned();
        self.0.lock().push(directory);
        Ok(address)
    }

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
        Ok(Box::new(Ledger::new(address)))
    }

    fn reach(&self) -> Reach {
        Reach::Processes
    }
}

fn failed(source: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "cannot make a directory").with_source(source)
}

fn main() -> ExitCode {
    conformance_tests::main(vec![Arc::new(Ledgers::default())])
}
