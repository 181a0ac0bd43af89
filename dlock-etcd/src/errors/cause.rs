//! The causes of an error of the driver.

use std::{error::Error as StdError, io};

use etcd_client::Error as DriverError;

/// The cause of type `E`, if there is one.
pub(super) fn find_cause<E: StdError + 'static>(error: &DriverError) -> Option<&E> {
    chain(error).find_map(|cause| {
        // An I/O error has its cause inside, not as its source.
        let wrapped = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        let wrapped =
            wrapped.and_then(|wrapped| (wrapped as &(dyn StdError + 'static)).downcast_ref());
        cause.downcast_ref().or(wrapped)
    })
}

/// The error with all its causes: the driver's own type names none.
fn chain<'a>(error: &'a DriverError) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let first: &'a (dyn StdError + 'static) = match error {
        DriverError::GRpcStatus(status) => status,
        DriverError::TransportError(transport) => transport,
        DriverError::IoError(io) => io,
        other => other,
    };
    let below = |cause: &&'a (dyn StdError + 'static)| (*cause).source();
    std::iter::successors(Some(first), below)
}

/// The message of the server, or of the lowest layer.
pub(super) fn root_message(error: &DriverError) -> String {
    match error {
        DriverError::GRpcStatus(status) if status.source().is_none() => status.message().to_owned(),
        other => chain(other)
            .last()
            .map(ToString::to_string)
            .unwrap_or_default(),
    }
}
