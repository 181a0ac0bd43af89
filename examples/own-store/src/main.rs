//! The program `dlock` with one more store: `ledger:/directory`.

use std::{path::Path, process::ExitCode};

use dlock_own_store::Ledger;

fn main() -> ExitCode {
    dlock_cli::main(dlock::registry().register("ledger", |settings| {
        let directory = settings.take_path();
        let directory = directory.filter(|directory| Path::new(directory).is_dir());
        let directory = directory.ok_or_else(|| {
            settings.invalid("it needs a directory that exists, as in ledger:/tmp")
        })?;
        Ok(Box::pin(async {
            Ok(Box::new(Ledger::new(directory)) as _)
        }))
    }))
}
