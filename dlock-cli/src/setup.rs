//! `dlock setup`: what a store needs before its first lock.

use std::time::Duration;

use dlock::config::Registry;

use crate::{
    base::{
        exit::{Exit, Failure},
        output, runtime,
    },
    cli::args::{Global, Setup},
    store::Store,
};

/// How long closing the store may keep dlock from ending.
const CLOSE_MAX: Duration = Duration::from_secs(1);

pub(crate) fn main(registry: &Registry, global: &Global, args: &Setup) -> Result<Exit, Failure> {
    let store = Store::find_or(registry, global, args.store.as_deref())?;
    let text = if args.print {
        let statements = dlock::setup_statements(store.config());
        if statements.is_empty() {
            let scheme = store.config().url().scheme();
            return Err(Failure::usage(format!(
                "{scheme}: needs no setup; its locks can be used at once"
            )));
        }
        statements.iter().map(|one| format!("{one};\n")).collect()
    } else {
        runtime::block_on(async {
            // Connecting makes what is missing.
            let locker = store.connect().await?;
            let _ = locker.shutdown(CLOSE_MAX).await;
            Ok(())
        })?;
        "the store is ready\n".to_owned()
    };
    output::print(text.as_bytes())?;
    Ok(Exit::OK)
}
