//! `cargo xtask mutants`: breaks the code in one place at a time, and shows which tests report it.

mod build;
pub(crate) mod check;
mod column;
mod definition;
mod folder;
mod judge;
mod kept;
mod output;
mod page;
mod passed;
mod program;
mod results;
mod run;
mod session;

use clap::Args;

use self::{
    column::Column, definition::Mutant, folder::Folder, results::Results, session::Session,
};
use crate::{
    failure::{Failure, Result},
    metadata::Metadata,
    step::say,
};

/// The options of `cargo xtask mutants`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Options {
    /// Which mutants: names, or parts of names [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Run the tests of the crate, then the conformance suite
    #[arg(long)]
    suite: bool,

    /// Run the simulation of core
    #[arg(long)]
    simulation: bool,

    /// Run chaos on real servers
    #[arg(long)]
    chaos: bool,

    /// Run only the expected test of each mutant: one that lives through it is not measured
    #[arg(long)]
    expected: bool,

    /// Measure the other columns of a mutant that is dead, too
    #[arg(long)]
    all_columns: bool,

    /// Forget the earlier results of these mutants
    #[arg(long)]
    again: bool,

    /// Print what is known; run nothing
    #[arg(long)]
    table: bool,

    /// Write the table to docs/mutants.md
    #[arg(long)]
    write: bool,
}

impl Options {
    /// The chosen columns; all that the workspace has, if none is.
    fn columns(&self, metadata: &Metadata) -> Result<Vec<Column>> {
        let chosen = [self.suite, self.simulation, self.chaos];
        if !chosen.contains(&true) {
            let all = Column::ALL.into_iter();
            return Ok(all
                .filter(|column| program::has(metadata, *column))
                .collect());
        }
        let all = Column::ALL.into_iter().zip(chosen);
        let columns: Vec<_> = all
            .filter(|(_, is_chosen)| *is_chosen)
            .map(|(column, _)| column)
            .collect();
        match columns
            .iter()
            .find(|column| !program::has(metadata, **column))
        {
            Some(column) => Err(Failure::new(format!("the workspace has no {column:?}"))),
            None => Ok(columns),
        }
    }
}

/// Measures the mutants that `options` choose, and prints the table of all.
///
/// A mutant that has a result keeps it, so that a run which was stopped goes on where it was.
///
/// # Errors
///
/// When a mutant is alive, its file is wrong, or a test fails without it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let metadata = Metadata::read()?;
    let root = &metadata.workspace_root;
    let mutants = definition::read_all(root)?;
    let chosen = choose(&mutants, &options.names)?;
    let folder = Folder::of(root);
    // Before the results are read: another run adds to them.
    let _lock = (!options.table).then(|| folder.lock()).transpose()?;
    let mut results = Results::load(root, &mutants)?;
    if options.again {
        results.forget(&chosen);
    }
    if !options.table {
        let columns = options.columns(&metadata)?;
        let mut session = Session::start(&metadata, folder, options.expected, &mut results)?;
        session.measure(&chosen, &columns, options.all_columns)?;
    }
    let table = page::table(&mutants, &results) + &page::sum(&mutants, &results);
    say(&table);
    if options.write {
        page::write(root, &table)?;
    }
    let alive = chosen.iter().filter(|mutant| results.is_alive(mutant));
    let alive: Vec<_> = alive
        .map(|mutant| format!("{} ({}: {})", mutant.name, mutant.clause, mutant.why))
        .collect();
    if alive.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("alive: {}", alive.join(", "))))
}

/// The mutants whose name has one of `names` as a part; all, if there are none.
fn choose<'a>(mutants: &'a [Mutant], names: &[String]) -> Result<Vec<&'a Mutant>> {
    let fits = |mutant: &Mutant, name: &String| mutant.name.contains(name.as_str());
    if let Some(name) = names
        .iter()
        .find(|name| !mutants.iter().any(|mutant| fits(mutant, name)))
    {
        return Err(Failure::new(format!(
            "no mutant {name} in {}",
            definition::FOLDER
        )));
    }
    let is_chosen =
        |mutant: &&Mutant| names.is_empty() || names.iter().any(|name| fits(mutant, name));
    Ok(mutants.iter().filter(is_chosen).collect())
}
