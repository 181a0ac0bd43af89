//! The traces of locks in all stores that a store is made of.

use std::{future::Future, pin::Pin};

use dlock_core::{LockName, Result, backend::async_trait, config::Config};

use super::{
    Residue,
    left::{Left, Store},
};
use crate::nested::parts;

/// Between the name of a store and a place in it.
const IN: &str = ": ";

type Opening<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Store>>> + Send + 'a>>;

struct Nested(Vec<(&'static str, Box<dyn Store>)>);

/// Connects to all of them.
pub(super) fn open(config: &Config) -> Opening<'_> {
    Box::pin(async move {
        let mut stores = Vec::new();
        for part in parts(config)? {
            let Residue(store) = Residue::open(&part.config).await?;
            stores.push((part.label, store));
        }
        Ok(Box::new(Nested(stores)) as Box<dyn Store>)
    })
}

#[async_trait]
impl Store for Nested {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let mut all = Vec::new();
        for (label, store) in &self.0 {
            let left = store.list(name).await?;
            all.extend(left.into_iter().map(|left| Left {
                place: format!("{label}{IN}{}", left.place),
                ..left
            }));
        }
        Ok(all)
    }

    async fn remove(&self, left: &Left) -> Result<bool> {
        for (label, store) in &self.0 {
            let place = left.place.strip_prefix(label);
            if let Some(place) = place.and_then(|place| place.strip_prefix(IN)) {
                let left = Left::new(&left.name, place, left.kind);
                return store.remove(&left).await;
            }
        }
        Ok(false)
    }

    async fn close(self: Box<Self>) {
        for (_, store) in self.0 {
            store.close().await;
        }
    }
}
