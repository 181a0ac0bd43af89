//! The steps of a migration, with the URLs of the programs.

use dlock::{
    config::{BackendUrl, Config, Settings},
    layers::migrate::token_base,
};

use crate::base::exit::Failure;

/// The backends of dlock, by the beginning of their schemes.
const BACKENDS: [(&str, &str); 6] = [
    ("redis", "redis"),
    ("etcd", "etcd"),
    ("zk", "zk"),
    ("mysql", "mysql"),
    ("mariadb", "mysql"),
    ("file", "file"),
];

pub(super) fn text(config: &Config) -> Result<String, Failure> {
    let mut settings = Settings::of(config)?;
    let mut store = |key| Ok::<_, Failure>(settings.take_store(key)?.map(|one| one.url().clone()));
    let (Some(old), Some(new)) = (store("from")?, store("to")?) else {
        return Err(Failure::usage("two stores are needed: OLD and NEW"));
    };
    let new = with_base(&old, new)?;
    let both = BackendUrl::parse("migrate:")?
        .with_param("from", old.expose())
        .with_param("to", new.expose());
    Ok(format!(
        "\
1. Begin. Programs with the old URL go on.
     dlock migrate start '{old}' '{new}'
2. Change the URL of all programs, in any order. Each can go back at any time.
     DLOCK_URL='{both}'
   Check that they can use both stores:
     dlock migrate check '{old}' '{new}'
3. When no program has the old URL, and no other client is left in the old store, make the new store the one that
   counts. Until here the way back is the old URL in all programs, and then `dlock migrate cancel`.
     dlock migrate switch '{old}' '{new}' --no-others
4. Change the URL of all programs, in any order. Each can go back to that of step 2 at any time.
     DLOCK_URL='{new}'
5. When all have it, take away the rights to the old store.
   The way back is a migration from the new store to the old one.
Passwords are not shown.
"
    ))
}

/// `new` with a `token_base=` that is large enough.
fn with_base(old: &BackendUrl, new: BackendUrl) -> Result<BackendUrl, Failure> {
    let base = |url: &BackendUrl| {
        let text = url.param("token_base").unwrap_or("0");
        text.parse::<u64>().unwrap_or_default()
    };
    let (Some(from), Some(to)) = (backend(old), backend(&new)) else {
        return Ok(new);
    };
    let Some(least) = token_base(from, base(old), to) else {
        return Err(Failure::usage(format!(
            "no token_base= is large enough for a move from {old}: its tokens are too large already"
        )));
    };
    Ok(if base(&new) < least {
        new.with_param("token_base", least.to_string())
    } else {
        new
    })
}

fn backend(url: &BackendUrl) -> Option<&'static str> {
    let is_of = |(begin, _): &&(&str, &str)| url.scheme().starts_with(begin);
    BACKENDS.iter().find(is_of).map(|(_, backend)| *backend)
}
