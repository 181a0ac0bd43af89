//! The options of a blocking acquire, which are those of the async one.

/// The setters that all acquires share.
macro_rules! setters {
    ($inner:ident) => {
        #[doc = concat!("Sets how long a grant lives in the store without a renewal, as [`ttl`](crate::", stringify!($inner), "::ttl).")]
        pub fn ttl(mut self, ttl: Duration) -> Self {
            self.acquire = self.acquire.map(|acquire| acquire.ttl(ttl));
            self
        }

        #[doc = concat!("Takes the lock shared, as [`shared`](crate::", stringify!($inner), "::shared).")]
        pub fn shared(mut self) -> Self {
            self.acquire = self.acquire.map(|acquire| acquire.shared());
            self
        }

        #[doc = concat!("Sets a note for people who inspect the lock, as [`note`](crate::", stringify!($inner), "::note).")]
        pub fn note(mut self, note: &str) -> Self {
            self.acquire = self.acquire.map(|acquire| acquire.note(note));
            self
        }
    };
}

/// The setters of waiting acquires.
macro_rules! wait_setters {
    () => {
        /// Sets how long to block while the lock is taken; zero tries once. The default is the locker's.
        ///
        /// A wait that is over before the store's first answer ends in `Unavailable`, also if the lock is free.
        pub fn wait(mut self, wait: Duration) -> Self {
            self.acquire = self.acquire.map(|acquire| acquire.wait(wait));
            self
        }

        /// Blocks without a limit. Only a grant, an error or a shutdown of the locker in another thread ends it.
        pub fn wait_forever(mut self) -> Self {
            self.acquire = self.acquire.map(|acquire| acquire.wait_forever());
            self
        }
    };
}

/// The setter of acquires that may go without renewal.
macro_rules! no_renewal {
    () => {
        /// Turns renewal off: the lock ends after its ttl.
        pub fn no_renewal(mut self) -> Self {
            self.acquire = self.acquire.map(|acquire| acquire.no_renewal());
            self
        }
    };
}

pub(super) use {no_renewal, setters, wait_setters};
