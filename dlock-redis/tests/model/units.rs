//! The units of the model.

pub(crate) type Micros = i64;
pub(crate) type Token = i64;
