//! The traces of locks in all stores that a store is made of.

use dlock_core::{Error, LockName, Result, backend::async_trait};

use super::left::{Cleared, Left, Store};

/// Between the name of a store and a place in it.
const IN: &str = ": ";

/// The stores that could be reached, each with its name.
#[derive(Default)]
pub(super) struct Nested {
    reached: Vec<(String, Box<dyn Store>)>,
    /// The first one that could not.
    unreached: Option<(String, Error)>,
}

impl Nested {
    /// Adds the store `label`, if it could be reached.
    pub(super) fn add(&mut self, label: String, store: Result<Box<dyn Store>>) {
        match store {
            Ok(store) => self.reached.push((label, store)),
            Err(error) => {
                self.unreached.get_or_insert((label, error));
            }
        }
    }

    /// The stores; an error if none could be reached.
    pub(super) fn checked(self) -> Result<Self> {
        match self.unreached {
            Some((_, error)) if self.reached.is_empty() => Err(error),
            unreached => Ok(Self { unreached, ..self }),
        }
    }
}

#[async_trait]
impl Store for Nested {
    async fn list(&self, name: &LockName) -> Result<Vec<Left>> {
        let mut all = Vec::new();
        for (label, store) in &self.reached {
            let left = store.list(name).await?;
            all.extend(left.into_iter().map(|left| Left {
                place: format!("{label}{IN}{}", left.place),
                ..left
            }));
        }
        Ok(all)
    }

    async fn remove(&self, left: &Left) -> Result<bool> {
        for (label, store) in &self.reached {
            let place = left.place.strip_prefix(label.as_str());
            if let Some(place) = place.and_then(|place| place.strip_prefix(IN)) {
                let left = Left::new(&left.name, place, left.kind);
                return store.remove(&left).await;
            }
        }
        Ok(false)
    }

    async fn clear(&self, names: &[LockName]) -> Result<Cleared> {
        let (mut all, mut failed) = (Cleared::default(), None);
        for (_, store) in &self.reached {
            match store.clear(names).await {
                Ok(cleared) => {
                    all.removed += cleared.removed;
                    all.stays += cleared.stays;
                    all.locks += cleared.locks;
                }
                // What is in the others is removed all the same.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(all), Err)
    }

    fn unreached(&self) -> Option<Error> {
        let (label, error) = self.unreached.as_ref()?;
        Some(Error::new(error.kind(), format!("{label}: {error}")))
    }

    async fn close(self: Box<Self>) {
        for (_, store) in self.reached {
            store.close().await;
        }
    }
}
