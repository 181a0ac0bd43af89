//! The grants so far that end last.

use super::attempt::Grant;

/// Of the grants so far, the one that ends last, and the exclusive one that ends last.
#[derive(Default)]
pub(super) struct Latest<'a> {
    any: Option<&'a Grant>,
    exclusive: Option<&'a Grant>,
}

impl<'a> Latest<'a> {
    /// The one that ends last among those that `grant` excludes.
    pub(super) fn conflicting(&self, grant: &Grant) -> Option<&'a Grant> {
        if grant.shared {
            self.exclusive
        } else {
            self.any
        }
    }

    pub(super) fn add(&mut self, grant: &'a Grant) {
        let later = |latest: &mut Option<&'a Grant>| {
            if latest.is_none_or(|latest| latest.to() < grant.to()) {
                *latest = Some(grant);
            }
        };
        later(&mut self.any);
        if !grant.shared {
            later(&mut self.exclusive);
        }
    }
}
