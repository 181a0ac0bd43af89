//! Writing to the terminal. A closed pipe is never a panic and never a message.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use serde::Serialize;

use crate::base::exit::{Exit, Failure};

/// Prints `dlock: MESSAGE` to stderr, always as one line.
pub(crate) fn say(message: &str) {
    // Nowhere is left to complain about a broken stderr.
    let _ = writeln!(io::stderr(), "dlock: {}", one_line(message));
}

/// Writes `text` to stdout. A reader that went away has seen what it wanted.
pub(crate) fn print(text: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("cannot write to stdout: {}", describe(&error));
            Err(Failure::new(Exit::INTERNAL, message))
        }
        _ => Ok(()),
    }
}

/// `value` as one line of JSON. All its control characters are escaped, so that what a store holds cannot steer the
/// terminal.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| Failure::new(Exit::INTERNAL, error.to_string()))?;
    let mut line = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        // Those below U+0020 are escaped already. The others are only inside of strings.
        if c.is_control() {
            let _ = write!(line, "\\u{:04x}", u32::from(c));
        } else {
            line.push(c);
        }
    }
    line.push('\n');
    Ok(line)
}

/// The text of a system error without the number that Rust adds.
pub(crate) fn describe(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error")
        .map_or(text.as_str(), |(words, _)| words)
        .to_owned()
}

/// `text` with its control characters escaped, so that what a user typed or a store holds cannot break
/// the line or steer the terminal.
pub(crate) fn one_line(text: &str) -> String {
    let escape = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_and_cannot_steer_the_terminal() {
        assert_eq!(one_line("a\nb\u{1b}[2J ü"), "a\\nb\\u{1b}[2J ü");
    }

    #[test]
    fn json_has_no_control_characters_and_keeps_its_meaning() {
        let value = "a\n\u{7f}\u{9b}2J\u{1b} \"ü\"";
        let line = json(&value).expect("json");
        assert_eq!(line, "\"a\\n\\u007f\\u009b2J\\u001b \\\"ü\\\"\"\n");
        let again: String = serde_json::from_str(&line).expect("json");
        assert_eq!(again, value);
    }

    #[test]
    fn a_system_error_is_reported_without_its_number() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(describe(&error), "No such file or directory");
    }
}
