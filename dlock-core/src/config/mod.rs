//! Configuration by a URL, a file or the environment.
//!
//! A [`Config`] is found by [`Discovery`], or made of a URL or a file. A [`Registry`] reads it strictly
//! and opens the store. All errors before the opening are `InvalidConfig`, one line, and never hold a
//! password.
//!
//! A key may have the URL of another store, for a store that is made of stores: [`Settings::take_store`] reads it. In a
//! file such a key is a table. All of this holds for nested URLs, too.

mod check;
mod configuration;
mod connect_wait;
#[cfg(feature = "serde")]
mod deserialize;
mod discover;
mod file;
mod parts;
mod registry;
mod secret;
mod settings;
mod small_file;
mod source;
mod suggest;
mod table;
mod tls;
mod trust;
mod url;
mod variable;

pub use self::{
    check::{check_duration, check_prefix, check_u64},
    configuration::Config,
    discover::Discovery,
    parts::{Credentials, HostList, Login, LoginKeys, Password, Timeouts},
    registry::{ConnectFuture, Registry},
    secret::Secret,
    settings::{CommonSettings, Settings},
    source::{
        DEFAULT_URL, FILE_NAME, FILE_VARIABLE, REQUIRE_VARIABLE, SYSTEM_FILE, Source, URL_VARIABLE,
    },
    tls::Tls,
    url::{BackendUrl, Host},
};
