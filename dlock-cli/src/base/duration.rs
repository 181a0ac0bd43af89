//! Durations on the command line.

use std::time::Duration;

/// Reads `30s`, `500ms`, `1m 30s`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let shape = "a duration has a unit, such as 30s, 500ms or 2m";
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{shape}; did you mean {text}s?"));
    }
    humantime::parse_duration(text).map_err(|_| shape.to_owned())
}

/// Reads a duration like [`parse`]; zero is refused.
pub(crate) fn parse_positive(text: &str) -> Result<Duration, String> {
    if text.bytes().all(|byte| byte == b'0') && !text.is_empty() {
        return Err("it must be longer than zero".to_owned());
    }
    match parse(text)? {
        Duration::ZERO => Err("it must be longer than zero".to_owned()),
        duration => Ok(duration),
    }
}

/// How people read it: whole milliseconds below ten seconds, else whole seconds.
pub(crate) fn show(duration: Duration) -> String {
    let round = if duration < Duration::from_secs(10) {
        Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    } else {
        Duration::from_secs(duration.as_secs())
    };
    humantime::format_duration(round).to_string()
}

/// A time that was measured, such as `3.2 s` or `2m 5s`.
pub(crate) fn measured(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match duration.as_secs() {
        0 => format!("{} ms", duration.as_millis()),
        1..10 => format!("{seconds:.1} s"),
        10..60 => format!("{} s", duration.as_secs()),
        _ => show(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_needed_and_proposed() {
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("1m 500ms"), Ok(Duration::from_millis(60_500)));
        assert_eq!(
            parse("5").expect_err("no unit"),
            "a duration has a unit, such as 30s, 500ms or 2m; did you mean 5s?"
        );
        for bad in ["", "-1s", "s", "1 parsec", "99999999999999999999s", "ü"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn zero_is_no_time_to_live() {
        for zero in ["0", "0s", "0ms"] {
            assert_eq!(
                parse_positive(zero).expect_err(zero),
                "it must be longer than zero"
            );
        }
        assert_eq!(parse_positive("1ms"), Ok(Duration::from_millis(1)));
    }

    #[test]
    fn durations_are_shown_rounded() {
        assert_eq!(show(Duration::from_micros(1_234_567)), "1s 234ms");
        assert_eq!(show(Duration::from_millis(75_900)), "1m 15s");
    }

    #[test]
    fn measured_times_are_short() {
        for (millis, words) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (3_210, "3.2 s"),
            (12_900, "12 s"),
            (75_900, "1m 15s"),
        ] {
            assert_eq!(measured(Duration::from_millis(millis)), words);
        }
    }
}
