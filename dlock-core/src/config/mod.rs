//! Configuration by a URL, a file or the environment.
//!
//! A [`Config`] is found by [`Discovery`], or made of a URL or a file. A [`Registry`] reads it strictly
//! and opens the store. All errors before the opening are `InvalidConfig`, one line, and never hold a
//! password.

mod configuration;
#[cfg(feature = "serde")]
mod deserialize;
mod discover;
mod file;
mod registry;
mod secret;
mod settings;
mod source;
mod suggest;
mod table;
mod tls;
mod url;

pub use self::{
    configuration::Config,
    discover::Discovery,
    registry::{ConnectFuture, Registry},
    secret::Secret,
    settings::{CommonSettings, Settings},
    source::{DEFAULT_URL, FILE_NAME, FILE_VARIABLE, Source, URL_VARIABLE},
    tls::TlsFiles,
    url::{BackendUrl, Host},
};
