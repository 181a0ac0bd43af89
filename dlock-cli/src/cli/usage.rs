//! Errors in the command line: clap's message in one line.

use std::borrow::Cow;

use clap::{
    CommandFactory as _, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    base::{exit::Exit, output},
    cli::{args::Args, hints},
};

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
        ErrorKind::InvalidSubcommand if HELP.contains(&word(error).unwrap_or_default()) => {
            // `dlock help --help`
            let _ = Args::command().print_help();
            Exit::OK
        }
        _ => {
            output::say(&format!("{}; try --help", line(error)));
            Exit::USAGE
        }
    }
}

/// The options that show help.
const HELP: [&str; 2] = ["--help", "-h"];

/// The error in one line, with at most one hint.
fn line(error: &Error) -> String {
    let text = error.render().to_string();
    match word(error).and_then(|word| hints::hint(error.kind(), word, &text)) {
        Some(hint) => format!("{}; {hint}", one_line(&text, Tips::Dropped)),
        None => one_line(&text, Tips::Kept),
    }
}

/// The word that clap does not know.
fn word(error: &Error) -> Option<&str> {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return None,
    };
    match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    }
}

/// The use of the hints that clap has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tips {
    Kept,
    Dropped,
}

/// The paragraphs of clap's text that say what is wrong, joined. A URL that is quoted there because it is in a
/// wrong place does not show its password.
fn one_line(text: &str, tips: Tips) -> String {
    let said = text.strip_prefix("error: ").unwrap_or(text);
    let paragraphs = said.split("\n\n").map(|part| {
        let lines = part.lines().map(str::trim).filter(|line| {
            // "to pass '-x' as a value, use '-- -x'": what follows the dashes is the command.
            let is_misleading = line.starts_with("tip: to pass");
            !is_misleading && (tips == Tips::Kept || !line.starts_with("tip: "))
        });
        let words = lines.flat_map(str::split_whitespace).map(masked);
        words.collect::<Vec<_>>().join(" ")
    });
    let wanted = paragraphs.filter(|part| {
        let usage = part.starts_with("Usage:") || part.starts_with("For more information");
        !part.is_empty() && !usage
    });
    wanted.collect::<Vec<_>>().join("; ")
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
        assert_eq!(one_line(text, Tips::Kept), line);
    }

    #[test]
    fn there_is_one_tip_or_none() {
        let text = "error: unexpected argument '--wiat' found\n\n  tip: a similar argument exists: '--wait'\n  \
                    tip: to pass '--wiat' as a value, use '-- --wiat'\n\nUsage: dlock run <NAME>\n";
        let line = "unexpected argument '--wiat' found; tip: a similar argument exists: '--wait'";
        assert_eq!(one_line(text, Tips::Kept), line);
        let line = "unexpected argument '--wiat' found";
        assert_eq!(one_line(text, Tips::Dropped), line);
    }

    #[test]
    fn lists_are_joined() {
        let text = "error: the following required arguments were not provided:\n  <NAME>\n  \
                    <CMD>...\n\nUsage: dlock run\n";
        let line = "the following required arguments were not provided: <NAME> <CMD>...";
        assert_eq!(one_line(text, Tips::Kept), line);
    }

    #[test]
    fn a_url_in_a_wrong_place_does_not_show_its_password() {
        let one_line = |text| one_line(text, Tips::Kept);
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
