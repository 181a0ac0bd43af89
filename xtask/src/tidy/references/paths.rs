//! Files that a document names, by a link or in backticks, are there.

use std::path::{Component, Path, PathBuf};

/// The ends of the names that are checked. `.toml` is not: users have such files, too.
const ENDS: &[&str] = &[".java", ".lua", ".md", ".rs"];

/// Parts of a name that stand for any name.
const PLACEHOLDERS: &[&str] = &["…", "*", "<", "NN", "NAME"];

/// A name in a document, with its line, from 1.
pub(super) struct Named {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) is_link: bool,
}

/// The files that `text` names.
pub(super) fn named(text: &str) -> Vec<Named> {
    let lines = (1..).zip(text.lines());
    lines
        .flat_map(|(line, text)| {
            let links = links(text).map(|name| (name, true));
            let quoted = text
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|name| is_file(name));
            let all = links.chain(quoted.map(|name| (name.to_owned(), false)));
            all.map(move |(name, is_link)| Named {
                line,
                name,
                is_link,
            })
        })
        .collect()
}

/// Whether `files` have what the document at `path` names.
///
/// A link goes from the document; a name in backticks is the end of a path.
pub(super) fn is_there(named: &Named, path: &str, files: &[&str]) -> bool {
    if !named.is_link {
        let end = format!("/{}", named.name);
        return files
            .iter()
            .any(|file| *file == named.name || file.ends_with(&end));
    }
    let target = named.name.split('#').next().unwrap_or_default();
    let folder = Path::new(path).parent().unwrap_or_else(|| Path::new(""));
    let target = if target.is_empty() {
        PathBuf::from(path)
    } else {
        plain(&folder.join(target))
    };
    files
        .iter()
        .any(|file| Path::new(file).starts_with(&target))
}

/// The targets of links that are not of other sites.
fn links(line: &str) -> impl Iterator<Item = String> {
    let targets = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains(':'))
        .map(str::to_owned)
}

fn is_file(name: &str) -> bool {
    let is_plain = !name.contains(' ') && !PLACEHOLDERS.iter().any(|part| name.contains(part));
    is_plain
        && ENDS
            .iter()
            .any(|end| name.len() > end.len() && name.ends_with(end))
}

/// The path without its `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[&str] = &["docs/a.md", "x/src/conn/pool.rs", "README.md"];

    fn missing(path: &str, text: &str) -> Vec<String> {
        let named = named(text)
            .into_iter()
            .filter(|named| !is_there(named, path, FILES));
        named.map(|named| named.name).collect()
    }

    #[test]
    fn a_name_in_backticks_is_the_end_of_a_path() {
        let text = "`pool.rs`, `conn/pool.rs`, `ool.rs`, `src/pool.rs`, `x.toml`, `kNN_….rs`, `a b.rs`, `.rs`";
        assert_eq!(missing("docs/a.md", text), ["ool.rs", "src/pool.rs"]);
    }

    #[test]
    fn a_link_goes_from_the_document() {
        let text =
            "[a](../x/src) [b](../README.md#head) [c](b.md) [d](https://x.org/b.md) [e](#f) [g](x)";
        assert_eq!(missing("docs/a.md", text), ["b.md", "x"]);
    }
}
