//! The configuration, as its users and the authors of backends see it.

mod registry;
mod settings;
mod sources;
mod url;
