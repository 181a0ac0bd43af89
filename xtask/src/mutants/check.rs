//! The mutants fit the code: `cargo xtask tidy` checks it, so that a change of the code moves its mutants, too.

use std::path::Path;

use super::{
    definition::{self, Mutant},
    page, program,
};
use crate::metadata::Metadata;

/// A mutant that does not fit, and why.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// The file of the mutant.
    pub(crate) path: String,
    pub(crate) why: String,
}

/// The mutants that do not fit. `files` are paths below the root, with their texts.
pub(crate) fn misfits(metadata: &Metadata, files: &[(&str, &str)]) -> Vec<Misfit> {
    let page = text_of(files, page::PAGE).unwrap_or_default();
    let mutants = files.iter().filter(|(path, _)| is_mutant(path));
    let whys = mutants.flat_map(|(path, text)| {
        let name = Path::new(path).file_stem().unwrap_or_default();
        let whys = match definition::parse(&name.to_string_lossy(), text) {
            Ok(mutant) => broken(metadata, files, page, &mutant),
            Err(why) => vec![why],
        };
        whys.into_iter().map(|why| Misfit {
            path: (*path).to_owned(),
            why,
        })
    });
    whys.collect()
}

fn is_mutant(path: &str) -> bool {
    let path = Path::new(path);
    path.starts_with(definition::FOLDER)
        && path
            .extension()
            .is_some_and(|extension| extension == "toml")
}

fn broken(metadata: &Metadata, files: &[(&str, &str)], page: &str, mutant: &Mutant) -> Vec<String> {
    let mut whys = Vec::new();
    match text_of(files, &mutant.file.to_string_lossy()) {
        Some(text) => whys.extend(mutant.applied_to(text).err()),
        None => whys.push(format!("there is no file {}", mutant.file.display())),
    }
    let killer = &mutant.killer;
    if !program::is_there(metadata, killer) {
        whys.push(format!(
            "{} has no test program {}",
            killer.package, killer.program
        ));
    }
    let test = killer.test.rsplit("::").find(|part| !part.is_empty());
    if !test.is_some_and(|test| has_test(files, test)) {
        whys.push(format!("there is no test {:?}", killer.test));
    }
    if !page.contains(&format!("`{}`", mutant.name)) {
        whys.push(format!("{} has no row for it", page::PAGE));
    }
    whys
}

/// Whether a function or a module of the code has this name, or begins with it.
fn has_test(files: &[(&str, &str)], test: &str) -> bool {
    let words = [format!("fn {test}"), format!("mod {test}")];
    let mut code = files.iter().filter(|(path, _)| path.ends_with(".rs"));
    code.any(|(_, text)| words.iter().any(|word| text.contains(word.as_str())))
}

fn text_of<'a>(files: &[(&str, &'a str)], path: &str) -> Option<&'a str> {
    let found = files.iter().find(|(found, _)| *found == path);
    found.map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTANT: &str = "clause = 'K4'\nwhy = 'A.'\nfile = 'a/lib.rs'\ntext = 'own'\nreplacement = 'any'\n\
                          [killer]\npackage = 'a'\nprogram = 'it'\ntest = 'it::k04_'";

    fn whys(code: &str, page: &str, mutant: &str) -> Vec<String> {
        let json = r#"{"workspace_root": "/r", "packages": [{"name": "a", "manifest_path": "/r/a/Cargo.toml",
            "targets": [{"name": "it", "kind": ["test"], "src_path": ""}]}]}"#;
        let files = [
            ("mutants/x.toml", mutant),
            ("a/lib.rs", code),
            (page::PAGE, page),
        ];
        let misfits = misfits(&serde_json::from_str(json).unwrap(), &files);
        assert!(misfits.iter().all(|misfit| misfit.path == "mutants/x.toml"));
        misfits.into_iter().map(|misfit| misfit.why).collect()
    }

    #[test]
    fn a_mutant_that_fits_is_in_order() {
        assert!(whys("own fn k04_x", "| `x` |", MUTANT).is_empty());
    }

    #[test]
    fn each_thing_that_is_gone_is_reported() {
        let found = whys("", "", &MUTANT.replace("'it'", "'redis'"));
        assert_eq!(
            found,
            [
                "its text occurs 0 times in a/lib.rs (allowed: once)",
                "a has no test program redis",
                "there is no test \"it::k04_\"",
                "docs/mutants.md has no row for it",
            ]
        );
        let found = whys("own", "", &MUTANT.replace("a/lib", "a/gone"));
        assert_eq!(found[0], "there is no file a/gone.rs");
        assert!(whys("own", "", "clause").join("").contains("TOML"));
    }
}
