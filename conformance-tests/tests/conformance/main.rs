//! The suite on every backend of the workspace.

mod file;
mod memory;

use std::{process::ExitCode, sync::Arc};

fn main() -> dlock_core::Result<ExitCode> {
    Ok(conformance_tests::main(vec![
        Arc::new(memory::MemoryTarget::default()),
        Arc::new(file::FileTarget::new()?),
    ]))
}
