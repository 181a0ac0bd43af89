//! The program `dlock` with one more store: `ledger:/directory`.

use std::process::ExitCode;

use dlock_own_store::Ledger;

fn main() -> ExitCode {
    dlock_cli::main(dlock::registry().register("ledger", |settings| {
        let directory = settings.take_path();
        let directory = directory.ok_or_else(|| settings.invalid("no directory"))?;
        Ok(Box::pin(async {
            Ok(Box::new(Ledger::new(directory)) as _)
        }))
    }))
}
