//! The bound that a number of trials without a failure proves.

/// The rule of three: the bound of a rate is 3 divided by the number of trials, at a confidence of 95 %.
const RULE_OF_THREE: u64 = 3;

/// With 0 failures in `trials`, fewer than one trial in this many fails, at a confidence of 95 %.
///
/// `None` for fewer than three trials, which prove nothing.
///
/// ```
/// assert_eq!(dlock_verify::verdict::rare_at_most(3_104), Some(1_034));
/// assert_eq!(dlock_verify::verdict::rare_at_most(2), None);
/// ```
#[must_use]
pub fn rare_at_most(trials: u64) -> Option<u64> {
    match trials / RULE_OF_THREE {
        0 => None,
        rare => Some(rare),
    }
}
