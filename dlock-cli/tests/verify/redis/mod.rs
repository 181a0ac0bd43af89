//! Redis: a healthy server, what endangers it, and what a verification leaves behind.

mod first_lock;
mod health;
mod moving;
mod output;
mod rights;
mod server;
mod settings;
mod stop;

use dlock_servers::redis::Flavour;
use dlock_verify::support::if_available;
use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = health::trials();
    trials.extend(moving::trials());
    trials.extend(settings::trials());
    trials.extend(rights::trials());
    trials.extend(first_lock::trials());
    trials.extend(output::trials());
    trials.extend(stop::trials());
    if_available("redis", Flavour::RedisStable.find().map(drop), trials)
}
