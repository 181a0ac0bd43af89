//! The steps of a migration, with the URLs of the programs.

use dlock::{
    config::{BackendUrl, Config, Settings},
    layers::migrate::token_base,
};
use serde::Serialize;

use crate::base::exit::Failure;

/// The URLs of a migration, without passwords.
#[derive(Serialize)]
pub(super) struct Plan {
    format: &'static str,
    old: String,
    both: String,
    /// With a `token_base=` that is large enough, if the tokens of `old` are known.
    new: String,
    /// Why there is no `token_base=`.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_base: Option<String>,
}

impl Plan {
    pub(super) fn new(config: &Config) -> Result<Self, Failure> {
        let mut settings = Settings::of(config)?;
        let (Some(old), Some(new)) = (settings.take_store("from")?, settings.take_store("to")?)
        else {
            return Err(Failure::usage("two stores are needed: OLD and NEW"));
        };
        let new = with_base(&old, &new)?;
        let without_base = new
            .param("token_base")
            .is_none()
            .then(|| without_base(&old));
        let both = BackendUrl::parse("migrate:")?
            .with_param("from", old.url().expose())
            .with_param("to", new.expose());
        Ok(Self {
            format: "dlock-migrate/1",
            old: old.to_string(),
            both: both.to_string(),
            new: new.to_string(),
            without_base,
        })
    }

    pub(super) fn text(&self) -> String {
        let Self { old, both, new, .. } = self;
        let mut text = format!(
        "\
1. This plan. Passwords are not shown: give a URL with one by a variable, as env:OLD_URL.
2. Begin. Programs with the old URL go on. No program may use the new store under its prefix= yet.
     dlock migrate start '{old}' '{new}'
   Check that the stores can be used together:
     dlock migrate check '{old}' '{new}'
3. Change the URL of all programs, in any order. Each can go back at any time.
     DLOCK_URL='{both}'
4. See that no program has the old URL, and that no other client is left in the old store. Until here the way back is the
   old URL in all programs, and then `dlock migrate cancel`.
5. Make the new store the one that counts. --no-others confirms step 4. It takes 31 s.
     dlock migrate switch '{old}' '{new}' --no-others
6. Change the URL of all programs, in any order. Each can go back to that of step 3 at any time.
     DLOCK_URL='{new}'
7. When all have it, take away the rights to the old store. The way back is a migration from the new store to the old one.
"
        );
        if let Some(why) = &self.without_base {
            text = format!("{text}{why}\n");
        }
        text
    }
}

/// Why there is no `token_base=` for a move from `old`.
fn without_base(old: &Config) -> String {
    format!(
        "The new URL has no token_base=: dlock does not know how large the tokens of {old} become. If a resource compares \
         tokens, give NEW a token_base= above all of them. Until the switch a grant with a token that is too large for \
         it is refused."
    )
}

/// `new` with a `token_base=` that is large enough, if dlock knows the tokens of `old`.
fn with_base(old: &Config, new: &Config) -> Result<BackendUrl, Failure> {
    let base = |config: &Config| Ok::<_, Failure>(Settings::of(config)?.common().token_base);
    let (before, given) = (base(old)?.unwrap_or(0), base(new)?.unwrap_or(0));
    let from = old.url().scheme();
    let Some(least) = token_base(from, before) else {
        return match token_base(from, 0) {
            None => Ok(new.url().clone()),
            Some(_) => Err(Failure::usage(format!(
                "no token_base= is large enough for a move from {old}: its tokens are too large already; its programs have \
                 to be stopped for a move"
            ))),
        };
    };
    let url = new.url().clone();
    Ok(if given < least {
        url.with_param("token_base", least.to_string())
    } else {
        url
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(from: &str, to: &str) -> Plan {
        let config = Config::from_url("migrate:").expect("a URL");
        let config = config.with_param("from", from).with_param("to", to);
        Plan::new(&config).unwrap_or_else(|failure| panic!("{}", failure.message))
    }

    #[test]
    fn a_plan_from_a_store_of_another_project_says_why_it_has_no_base() {
        let text = plan("jobs://a", "redis://b").text();
        assert!(text.contains("DLOCK_URL='redis://b'\n"), "{text}");
        assert!(text.contains("The new URL has no token_base="), "{text}");
        for (from, to) in [
            ("jobs://a", "redis://b?token_base=7"),
            ("etcd://a", "redis://b"),
        ] {
            let text = plan(from, to).text();
            assert!(!text.contains("has no token_base"), "{text}");
        }
    }
}
