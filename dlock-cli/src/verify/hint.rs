//! A hint of errors that does not fit a server that has answered before.

/// The beginning of the hints about TLS, and of the cause behind them.
const OTHER_SCHEME: &str = "; if that port ";
const CAUSE: &str = ": ";

/// `text` without a hint that the scheme may be wrong.
pub(crate) fn without_scheme(text: &str) -> String {
    match text.split_once(OTHER_SCHEME) {
        Some((before, hint)) => {
            let cause = hint.find(CAUSE).and_then(|at| hint.get(at..));
            format!("{before}{}", cause.unwrap_or_default())
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_and_its_cause_stay() {
        let text = "the connection failed; if that port speaks TLS, use etcds://";
        assert_eq!(without_scheme(text), "the connection failed");
        let text = format!("{text}: reset by peer");
        assert_eq!(
            without_scheme(&text),
            "the connection failed: reset by peer"
        );
        assert_eq!(without_scheme("no answer in 5s"), "no answer in 5s");
    }
}
