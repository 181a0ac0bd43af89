//! Hints at what was probably meant by a word of another program.

use clap::error::ErrorKind;

/// Options of flock and `consul lock`, and what does the same here.
const OPTIONS: [(&[&str], &str); 7] = [
    (
        &["-n", "--nb", "--nonblock", "--no-wait"],
        "not to wait, use --try",
    ),
    (
        &["-w", "--timeout"],
        "to wait for a time, use --wait, such as --wait 5s",
    ),
    // `consul lock` has -try and -timeout.
    (&["-t"], "use --try, or --wait TIME"),
    (
        &["-E", "--conflict-exit-code"],
        "for exit code 0 when the lock is taken, use --skip-ok",
    ),
    (
        &["-c", "--command"],
        "put the command after --, as in -- sh -c '…'",
    ),
    (
        &["-x", "-e", "-F", "--exclusive", "--no-fork"],
        "leave it out, a lock is exclusive",
    ),
    (
        &["-u", "-o", "--unlock", "--close"],
        "leave it out, the lock is released when the command ends",
    ),
];

/// Subcommands of other programs, and what does the same here.
const SUBCOMMANDS: [(&[&str], &str); 5] = [
    (
        &["status", "state", "show", "info", "who", "holder", "get"],
        "to see the holder of a lock, use `dlock inspect NAME`",
    ),
    (
        &["lock", "acquire", "exec", "with", "try"],
        "to run a command under a lock, use `dlock run NAME -- CMD`",
    ),
    (
        &["unlock", "release", "free"],
        "a lock is released when its command ends",
    ),
    (
        &["check", "test", "doctor"],
        "to check a store, use `dlock verify URL`",
    ),
    (&["version"], "use `dlock --version`"),
];

/// The hint at what was meant by `word`, which is none of dlock's. clap's own message is `text`.
pub(super) fn hint(kind: ErrorKind, word: &str, text: &str) -> Option<&'static str> {
    let is_of = |subcommand: &str| text.contains(&format!("Usage: dlock {subcommand} "));
    match kind {
        ErrorKind::InvalidSubcommand => find(&SUBCOMMANDS, word),
        ErrorKind::UnknownArgument if is_of("run") && word.starts_with('-') => find(&OPTIONS, word),
        ErrorKind::UnknownArgument if is_of("run") => Some("put -- before the command"),
        ErrorKind::UnknownArgument if is_of("inspect") && !word.starts_with('-') => {
            Some("inspect takes one NAME, and no command")
        }
        _ => None,
    }
}

fn find(table: &[(&[&str], &'static str)], word: &str) -> Option<&'static str> {
    let row = table.iter().find(|(words, _)| words.contains(&word));
    row.map(|(_, hint)| *hint)
}
