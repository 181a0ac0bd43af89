//! The traces of locks in all stores that a store is made of.

use dlock_core::{LockName, Result, backend::async_trait};

use super::left::{Left, Store};

/// Between the name of a store and a place in it.
const IN: &str = ": ";

/// The stores, each with its name.
pub(super) struct Nested(pub(super) Vec<(String, Box<dyn Store>)>);

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
            let place = left.place.strip_prefix(label.as_str());
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
