//! Files that a package must have of its own: a package has no other folder than its own.

use std::{fs, path::Path};

use super::{finding::Finding, tree::TextFile};
use crate::{
    failure::{Failure, Result},
    metadata::{Metadata, Package},
};

/// The licences, in each package.
const LICENCES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];

/// Originals and copies.
const COPIES: &[(&str, &str)] = &[("docs/contract.md", "dlock-core/contract.md")];

/// The first page, in the package that users name; links lead out of its folder.
const PAGE: (&str, &str) = ("README.md", "dlock/README.md");

/// Whether a file is a copy of prose that is checked elsewhere.
pub(super) fn is_copy(path: &str) -> bool {
    COPIES.iter().chain([&PAGE]).any(|(_, copy)| path == *copy)
}

/// A file and the text that it must have.
struct Copy {
    path: String,
    text: String,
    original: &'static str,
}

/// The copies that differ from their originals.
pub(super) fn check(metadata: &Metadata, files: &[TextFile]) -> Vec<Finding> {
    let wanted = wanted(&folders(metadata), files).into_iter();
    let differs = |copy: &Copy| text_of(files, &copy.path) != Some(&copy.text);
    wanted
        .filter(differs)
        .map(|copy| {
            let message = format!(
                "is no copy of {}; make it: cargo xtask tidy --fix",
                copy.original
            );
            Finding::of_file(&copy.path, message)
        })
        .collect()
}

/// Writes the copies.
///
/// # Errors
///
/// When a file cannot be written.
pub(super) fn write(metadata: &Metadata, files: &mut Vec<TextFile>) -> Result<()> {
    for copy in wanted(&folders(metadata), files) {
        let path = metadata.workspace_root.join(&copy.path);
        fs::write(&path, &copy.text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
        files.retain(|file| file.path != copy.path);
        files.push(TextFile {
            path: copy.path,
            text: copy.text,
        });
    }
    Ok(())
}

/// The folders of the packages that may be published, below the root.
fn folders(metadata: &Metadata) -> Vec<String> {
    let published = metadata
        .packages
        .iter()
        .filter(|package| package.is_published());
    let folders = published.map(Package::directory);
    let below = |folder: &Path| {
        let folder = folder
            .strip_prefix(&metadata.workspace_root)
            .unwrap_or(folder);
        folder.to_string_lossy().into_owned()
    };
    folders.map(below).collect()
}

fn wanted(folders: &[String], files: &[TextFile]) -> Vec<Copy> {
    let licences = folders.iter().flat_map(|folder| {
        LICENCES
            .iter()
            .map(move |licence| (*licence, format!("{folder}/{licence}")))
    });
    let others = COPIES
        .iter()
        .map(|(original, path)| (*original, (*path).to_owned()));
    let exact = licences.chain(others).filter_map(|(original, path)| {
        let text = text_of(files, original)?.to_owned();
        Some(Copy {
            path,
            text,
            original,
        })
    });
    let (original, path) = PAGE;
    let page = text_of(files, original).map(|text| Copy {
        path: path.to_owned(),
        text: one_deeper(text),
        original,
    });
    exact.chain(page).collect()
}

fn text_of<'a>(files: &'a [TextFile], path: &str) -> Option<&'a String> {
    files
        .iter()
        .find(|file| file.path == path)
        .map(|file| &file.text)
}

/// The text with its links to files as they are from a folder below.
fn one_deeper(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |deeper, rest| {
        let target = rest.split(')').next().unwrap_or_default();
        let is_file = !target.contains(':') && !target.starts_with('#');
        deeper + if is_file { "](../" } else { "](" } + rest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn each_package_has_its_copies() {
        let files = [
            file("LICENSE-APACHE", "a"),
            file("LICENSE-MIT", "m"),
            file("README.md", "[x](docs/x.md)"),
            file("docs/contract.md", "c"),
        ];
        let wanted = wanted(&["one".to_owned(), "two".to_owned()], &files);
        let found: Vec<_> = wanted
            .iter()
            .map(|copy| (copy.path.as_str(), copy.text.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("one/LICENSE-APACHE", "a"),
                ("one/LICENSE-MIT", "m"),
                ("two/LICENSE-APACHE", "a"),
                ("two/LICENSE-MIT", "m"),
                ("dlock-core/contract.md", "c"),
                ("dlock/README.md", "[x](../docs/x.md)"),
            ]
        );
    }

    #[test]
    fn links_to_files_lead_out_of_the_folder() {
        let text = "[a](b.md#c), [d](https://e.org), [f](#g), x](LICENSE-MIT)";
        assert_eq!(
            one_deeper(text),
            "[a](../b.md#c), [d](https://e.org), [f](#g), x](../LICENSE-MIT)"
        );
    }
}
