//! How a case says what went wrong.

use libtest_mimic::Failed;

/// What a case ends with: anything that can be displayed is a reason to fail.
pub(crate) type Outcome<T = ()> = Result<T, Failed>;

/// Fails the case with a message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(libtest_mimic::Failed::from(format!($($message)+)));
        }
    };
}
pub(crate) use ensure;
