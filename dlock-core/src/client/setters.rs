//! The setters of the options, for all kinds of acquires. Each takes the path of the options in its builder.

/// The setters that all acquires share.
macro_rules! setters {
    ($($options:ident).+) => {
        /// Sets how long a grant lives in the store without a renewal, within the backend's bounds. The
        /// default is the locker's.
        pub fn ttl(mut self, ttl: Duration) -> Self {
            self.$($options).+.ttl = Some(ttl);
            self
        }

        /// Takes the lock shared: other shared holders may have it at the same time. `Unsupported`
        /// where the backend has no shared mode.
        pub fn shared(mut self) -> Self {
            self.$($options).+.mode = Mode::Shared;
            self
        }

        /// Sets a note for people who inspect the lock: at most 255 bytes without control characters.
        pub fn note(mut self, note: &str) -> Self {
            self.$($options).+.note = Some(note.into());
            self
        }
    };
}

/// The setters of waiting acquires.
macro_rules! wait_setters {
    ($($options:ident).+) => {
        /// Sets how long to wait while the lock is taken; zero tries once. The default is the locker's.
        ///
        /// A wait that is over before the store's first answer ends in `Unavailable`, also if the lock is free.
        pub fn wait(mut self, wait: Duration) -> Self {
            self.$($options).+.wait = Some(WaitFor::AtMost(wait));
            self
        }

        /// Waits without a limit.
        ///
        /// ```
        /// # use dlock_core::{Locker, memory::Memory};
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() -> dlock_core::Result<()> {
        /// # let locks = Locker::builder(Memory::new()).build()?;
        /// # let (first, second) = (locks.clone(), locks);
        /// let guard = first.acquire("leader").await?;
        /// // Becomes the leader when this one is gone, however long that takes.
        /// let next = tokio::spawn(async move { second.acquire("leader").wait_forever().await });
        /// guard.release().await?;
        /// assert!(next.await.unwrap()?.is_held());
        /// # Ok(())
        /// # }
        /// ```
        pub fn wait_forever(mut self) -> Self {
            self.$($options).+.wait = Some(WaitFor::Forever);
            self
        }
    };
}

/// The setters of acquires of one lock: those of several renew the first locks while they wait for the later ones.
macro_rules! renewal_setters {
    ($($options:ident).+) => {
        /// Turns renewal off: the lock ends after its ttl.
        ///
        /// ```
        /// # use dlock_core::{Locker, memory::Memory};
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() -> dlock_core::Result<()> {
        /// # let locks = Locker::builder(Memory::new()).build()?;
        /// use std::time::Duration;
        ///
        /// // Free again after 100 ms, even if the guard is kept.
        /// let ttl = Duration::from_millis(100);
        /// let guard = locks.acquire("report").ttl(ttl).no_renewal().await?;
        /// let next = locks.acquire("report").await?;
        /// assert!(next.is_held() && !guard.is_held());
        /// # Ok(())
        /// # }
        /// ```
        pub fn no_renewal(mut self) -> Self {
            self.$($options).+.renewal = Renewal::None;
            self
        }
    };
}

pub(crate) use {renewal_setters, setters, wait_setters};
