//! The bounds of searches and walks: small in every run of the tests, large in `cargo xtask nightly`.

use std::env;

/// `large` makes the searches and walks of `cargo xtask nightly`.
const BOUNDS_ENV: &str = "DLOCK_MODEL_BOUNDS";

/// Whether this run has the large bounds.
pub(crate) fn are_large() -> bool {
    match env::var(BOUNDS_ENV).as_deref() {
        Err(_) => false,
        Ok("large") => true,
        Ok(other) => panic!("{BOUNDS_ENV}={other:?} (allowed: large)"),
    }
}

/// The small value or the large one.
pub(crate) fn bound<T>(small: T, large: T) -> T {
    if are_large() { large } else { small }
}
