//! `dlock inspect` shows the holder of a lock.

pub(crate) mod holder;

use std::time::Duration;

use dlock::{Clock, config::Registry};

use crate::{
    base::{
        exit::{Exit, Failure},
        output, runtime,
    },
    cli::{
        args::{Global, Inspect},
        name,
    },
    inspect::holder::Report,
    store::Store,
};

/// How long closing the store may keep dlock from ending.
const CLOSE_MAX: Duration = Duration::from_secs(1);

pub(crate) fn main(registry: &Registry, global: &Global, args: &Inspect) -> Result<Exit, Failure> {
    let name = name::parse(&args.name)?;
    let store = Store::find(registry, global)?;
    let holder = runtime::block_on(async {
        let locker = store.connect().await?;
        let holder = locker.inspect(&name).await;
        // Nothing was held: what is not closed ends by itself.
        let _ = locker.shutdown(CLOSE_MAX).await;
        Ok(holder?)
    })?;
    let text = match &holder {
        holder if args.json => output::json(&Report::new(&name, holder.as_ref()))?,
        Some(holder) => holder::describe(&name, holder, &Clock::boottime()),
        None => format!("{name} is free\n"),
    };
    output::print(text.as_bytes())?;
    Ok(if holder.is_some() {
        Exit::OK
    } else {
        Exit::FREE
    })
}
