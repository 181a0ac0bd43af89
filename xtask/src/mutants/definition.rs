//! The file of a mutant.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

/// The folder of the mutants, below the root.
pub(super) const FOLDER: &str = "mutants";

/// One change that breaks a promise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mutant {
    /// The name of the file, without its ending.
    #[serde(skip)]
    pub(super) name: String,
    /// The clause that it breaks, such as `K4`.
    pub(super) clause: String,
    /// The consequence, in one sentence.
    pub(super) why: String,
    /// The file that is changed, below the root.
    pub(super) file: PathBuf,
    /// A text that this file has exactly once.
    pub(super) text: String,
    /// The text in its place.
    pub(super) replacement: String,
    /// The test that is run first.
    pub(super) killer: Killer,
}

/// A test that is expected to report a mutant.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Killer {
    pub(super) package: String,
    /// A test program of the package; `lib` or `bin` for unit tests.
    pub(super) program: String,
    /// A part of the names of the tests.
    pub(super) test: String,
}

impl Mutant {
    /// The folder of the crate that is changed.
    pub(super) fn crate_folder(&self) -> &Path {
        self.file
            .iter()
            .next()
            .map_or_else(|| Path::new(""), Path::new)
    }

    /// The changed text of its file.
    ///
    /// # Errors
    ///
    /// When the text to replace does not occur exactly once, or would not change.
    pub(super) fn applied_to(&self, text: &str) -> std::result::Result<String, String> {
        let count = text.matches(self.text.as_str()).count();
        if self.text.is_empty() || count != 1 {
            return Err(format!(
                "its text occurs {count} times in {} (allowed: once)",
                self.file.display()
            ));
        }
        if self.text == self.replacement {
            return Err("its replacement changes nothing".to_owned());
        }
        Ok(text.replacen(self.text.as_str(), &self.replacement, 1))
    }
}

/// The mutant with this name and file.
///
/// # Errors
///
/// When the file is not that of a mutant.
pub(super) fn parse(name: &str, text: &str) -> std::result::Result<Mutant, String> {
    let mutant: Mutant = toml::from_str(text).map_err(|error| error.to_string())?;
    Ok(Mutant {
        name: name.to_owned(),
        ..mutant
    })
}

/// All mutants, by name.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn read_all(root: &Path) -> Result<Vec<Mutant>> {
    let folder = root.join(FOLDER);
    let unreadable =
        |path: &Path, why: String| Failure::new(format!("cannot read {}: {why}", path.display()));
    let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, error.to_string()))?;
    let mut mutants = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| unreadable(&folder, error.to_string()))?
            .path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text =
            fs::read_to_string(&path).map_err(|error| unreadable(&path, error.to_string()))?;
        mutants.push(parse(&name, &text).map_err(|why| unreadable(&path, why))?);
    }
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(mutants)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::mutants) fn mutant() -> Mutant {
        let text = r#"
            clause = "K4"
            why = "A release frees any lock."
            file = "dlock-a/src/lib.rs"
            text = "== own"
            replacement = "!= own"
            [killer]
            package = "dlock-a"
            program = "lib"
            test = "k04"
        "#;
        parse("a-name", text).unwrap()
    }

    #[test]
    fn a_text_is_replaced_only_where_it_is_alone() {
        let mutant = mutant();
        assert_eq!(mutant.applied_to("if x == own {").unwrap(), "if x != own {");
        for wrong in ["", "x == own || y == own"] {
            let why = mutant.applied_to(wrong).unwrap_err();
            assert!(why.contains("(allowed: once)"), "{why}");
        }
    }

    #[test]
    fn the_name_is_that_of_the_file_and_the_crate_that_of_the_folder() {
        let mutant = mutant();
        assert_eq!(mutant.name, "a-name");
        assert_eq!(mutant.crate_folder(), Path::new("dlock-a"));
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let why = parse("x", "clause = 'K1'\nlines = 3").unwrap_err();
        assert!(why.contains("lines"), "{why}");
    }
}
