//! Errors in the command line: clap's message in one line.

use std::borrow::Cow;

use clap::{
    Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::base::{exit::Exit, output};

/// Ends a command line that clap did not take: help and version are printed, the rest is wrong
/// usage.
pub(crate) fn answer(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // clap knows whether stdout shows colours. A closed pipe has seen what it wanted.
            let _ = error.print();
            Exit::OK
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::USAGE
        }
        _ => {
            output::say(&format!(
                "{}{}; try --help",
                one_line(&error.render().to_string()),
                hint(error)
            ));
            Exit::USAGE
        }
    }
}

/// The paragraphs of clap's text that say what is wrong, joined. A URL that is quoted there because it is in a
/// wrong place does not show its password.
fn one_line(text: &str) -> String {
    let said = text.strip_prefix("error: ").unwrap_or(text);
    let paragraphs = said.split("\n\n").map(|part| {
        part.split_whitespace()
            .map(masked)
            .collect::<Vec<_>>()
            .join(" ")
    });
    let wanted = paragraphs.filter(|part| {
        // "to pass '-x' as a value, use '-- -x'": what follows the dashes is the command.
        let misleading = part.starts_with("tip: to pass");
        let usage = part.starts_with("Usage:") || part.starts_with("For more information");
        !part.is_empty() && !usage && !misleading
    });
    wanted.collect::<Vec<_>>().join("; ")
}

/// The hint that clap does not have: a word too many is most often the command.
fn hint(error: &Error) -> &'static str {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word))
            if error.kind() == ErrorKind::UnknownArgument && !word.starts_with('-') =>
        {
            "; put -- before the command"
        }
        _ => "",
    }
}

/// `word` without the text between `://` and the last `@`, and without its query.
fn masked(word: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = word.split_once("://") else {
        return word.into();
    };
    let rest = match rest.rsplit_once('@') {
        // A password may go on behind it.
        Some((before, _)) if before.contains('?') => "***".to_owned(),
        Some((_, hosts)) => format!("***@{hosts}"),
        None => rest.to_owned(),
    };
    let rest = match rest.split_once('?') {
        Some((before, query)) => {
            let quote = &query[query.trim_end_matches('\'').len()..];
            format!("{before}?***{quote}")
        }
        None => rest,
    };
    format!("{scheme}://{rest}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_kept_and_the_rest_is_not() {
        let text = "error: unexpected argument '--tll' found\n\n  tip: a similar argument exists: \
                    '--ttl'\n\nUsage: dlock run <NAME>\n\nFor more information, try '--help'.\n";
        let line = "unexpected argument '--tll' found; tip: a similar argument exists: '--ttl'";
        assert_eq!(one_line(text), line);
    }

    #[test]
    fn lists_are_joined() {
        let text = "error: the following required arguments were not provided:\n  <NAME>\n  \
                    <CMD>...\n\nUsage: dlock run\n";
        let line = "the following required arguments were not provided: <NAME> <CMD>...";
        assert_eq!(one_line(text), line);
    }

    #[test]
    fn a_url_in_a_wrong_place_does_not_show_its_password() {
        let line = one_line("error: unrecognized subcommand 'redis://me:p@ss@db-1/0'\n");
        assert_eq!(line, "unrecognized subcommand 'redis://***@db-1/0'");
        let line = one_line("error: unexpected argument 'redis://db-1?sentinel-password=p' found");
        assert_eq!(line, "unexpected argument 'redis://db-1?***' found");
        let line = one_line("error: unexpected argument 'redis://db-1?user=a@b&password=p'\n");
        assert_eq!(line, "unexpected argument 'redis://***");
        assert_eq!(masked("me@host"), "me@host");
        assert_eq!(masked("a@b://c"), "a@b://c");
    }
}
