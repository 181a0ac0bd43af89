//! The error of every part of this program.

use std::error::Error;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;
