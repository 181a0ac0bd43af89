//! `dlock man`: the manual pages, from the same definition as `--help`.

use std::{fs, io, path::Path};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::{
    base::{
        exit::{Exit, Failure},
        output::describe,
    },
    cli::args::Args,
};

/// The program and its version, at the foot of each page.
const SOURCE: &str = concat!("dlock ", env!("CARGO_PKG_VERSION"));

pub(crate) fn main(directory: &Path) -> Result<Exit, Failure> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let written = fs::create_dir_all(directory).and_then(|()| write(&command, directory));
    written.map_err(|error| {
        let why = describe(&error);
        Failure::usage(format!(
            "cannot write the manual pages to {directory:?}: {why}"
        ))
    })?;
    Ok(Exit::OK)
}

/// Writes the page of `command`, and those of its subcommands that `--help` shows.
fn write(command: &Command, directory: &Path) -> io::Result<()> {
    let mut page = Vec::new();
    let man = Man::new(command.clone()).source(SOURCE);
    man.render(&mut page)?;
    let page = literal(&String::from_utf8_lossy(&page));
    fs::write(directory.join(man.get_filename()), page)?;
    let shown = command.get_subcommands().filter(|word| !word.is_hide_set());
    for subcommand in shown {
        write(subcommand, directory)?;
    }
    Ok(())
}

/// `page` with its indented lines as they are: examples and tables must not be filled or adjusted.
fn literal(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    let mut was_indented = false;
    for line in page.lines() {
        let is_indented = line.starts_with(' ');
        match (was_indented, is_indented) {
            (false, true) => text.push_str(".nf\n"),
            (true, false) => text.push_str(".fi\n"),
            _ => {}
        }
        text.push_str(line);
        text.push('\n');
        was_indented = is_indented;
    }
    if was_indented {
        text.push_str(".fi\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indented_lines_are_literal() {
        let page = ".SH EXTRA\nExamples:\n  one   two\n  three\n\nText";
        let expected = ".SH EXTRA\nExamples:\n.nf\n  one   two\n  three\n.fi\n\nText\n";
        assert_eq!(literal(page), expected);
        assert_eq!(literal("  last"), ".nf\n  last\n.fi\n");
    }
}
