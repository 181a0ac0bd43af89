use super::*;

#[test]
fn display_is_one_line_with_context() {
    let name = LockName::new("seat/14C").expect("name");
    let error = Error::new(ErrorKind::Unavailable, "no answer")
        .with_source("refused\n  by peer")
        .in_context("acquire", "redis", Some(&name));
    let line = "cannot acquire \"seat/14C\" (redis): no answer: refused by peer";
    assert_eq!(error.to_string(), line);
    assert_eq!(error.duplicate().to_string(), "no answer: refused by peer");
}

#[test]
fn the_hint_at_the_url_is_between_message_and_source_until_it_is_removed() {
    let error = Error::new(ErrorKind::Unavailable, "no answer")
        .with_url_hint("use zks://")
        .with_source("reset");
    assert_eq!(error.to_string(), "no answer; use zks://: reset");
    let copy = error.duplicate();
    assert_eq!(copy.to_string(), error.to_string());
    assert_eq!(copy.without_url_hint().to_string(), "no answer: reset");
}

/// An error of a driver, which may print its cause and also return it.
#[derive(Debug)]
struct Caused {
    text: &'static str,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl fmt::Display for Caused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl StdError for Caused {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// The chain as anyhow's `{:#}` prints it.
fn chain(error: &Error) -> String {
    let first: &(dyn StdError + 'static) = error;
    let causes = std::iter::successors(Some(first), |&error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[test]
fn a_chain_of_three_has_each_text_once() {
    for (text, line) in [
        ("handshake failed", "no connection: handshake failed"),
        (
            "handshake failed: refused",
            "no connection: handshake failed: refused",
        ),
    ] {
        let cause = Some("refused".into());
        let driver = Caused { text, cause };
        let error = Error::new(ErrorKind::Unavailable, "no connection").with_source(driver);
        assert_eq!(error.to_string(), line);
        assert_eq!(chain(&error), "no connection: handshake failed: refused");
        assert!(error.get_ref().is_some_and(|source| source.is::<Caused>()));
    }
}

#[test]
fn an_error_within_an_error_has_each_text_once() {
    let down = Error::new(ErrorKind::Unavailable, "down").with_source("refused");
    let error = Error::new(ErrorKind::Unavailable, "no server").with_source(down);
    assert_eq!(chain(&error), "no server: down: refused");
    assert_eq!(chain(&Error::contended()), "another holder has it");
}

#[test]
fn context_of_the_inner_error_stays() {
    let error = Error::contended()
        .in_context("renew", "redis", None)
        .in_context("acquire", "quorum", None);
    assert_eq!(
        (error.operation(), error.backend()),
        (Some("renew"), Some("redis"))
    );
}

#[test]
fn a_loss_names_its_cause() {
    let name = LockName::new("a").expect("name");
    let error = Error::lost(LostCause::Taken).in_context("release", "redis", Some(&name));
    assert_eq!(
        error.to_string(),
        "lost \"a\" (redis): another holder has it"
    );
    assert_eq!(error.lost_cause(), Some(LostCause::Taken));
}
