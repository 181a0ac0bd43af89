//! Files become folders: the uses between them at each level of the tree.

use std::collections::BTreeSet;

use super::graph::Edges;

/// The edges between the entries of each folder: its files, and its folders with all that is in them.
///
/// The root file of a folder belongs to it (`a/mod.rs`, and also `a.rs` beside `a/`).
pub(super) fn levels(files: &Edges) -> Vec<Edges> {
    let all = files.iter().flat_map(|(from, to)| to.iter().chain([from]));
    let folders: BTreeSet<String> = all.flat_map(|file| ancestors(file)).collect();
    folders
        .iter()
        .map(|folder| level(files, |file| entry(&folders, folder, file)))
        .collect()
}

fn level(files: &Edges, entry: impl Fn(&str) -> Option<String>) -> Edges {
    let mut edges = Edges::new();
    for (from, targets) in files {
        for to in targets {
            if let (Some(from), Some(to)) = (entry(from), entry(to))
                && from != to
            {
                edges.entry(from).or_default().insert(to);
            }
        }
    }
    edges
}

/// The entry of `folder` that has `file`: the file itself, or the folder below that it is in.
fn entry(folders: &BTreeSet<String>, folder: &str, file: &str) -> Option<String> {
    let own = format!("{}/", file.strip_suffix(".rs").unwrap_or(file));
    if own == folder {
        return Some(file.to_owned());
    }
    let place = if folders.contains(&own) {
        own.as_str()
    } else {
        file
    };
    match place.strip_prefix(folder)?.split_once('/') {
        Some((name, _)) => Some(format!("{folder}{name}/")),
        None => Some(file.to_owned()),
    }
}

/// The folders that a file is in, from the outermost.
fn ancestors(file: &str) -> impl Iterator<Item = String> {
    file.match_indices('/')
        .map(|(end, _)| file[..=end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::graph;
    use super::*;

    fn circles(pairs: &[(&str, &str)]) -> Vec<Vec<String>> {
        let mut edges = Edges::new();
        for (from, to) in pairs {
            edges
                .entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned());
        }
        levels(&edges).iter().flat_map(graph::circles).collect()
    }

    #[test]
    fn folders_may_not_use_each_other_though_their_files_do_not() {
        assert_eq!(
            circles(&[("src/a/x.rs", "src/b/x.rs"), ("src/b/y.rs", "src/a/y.rs")]),
            [["src/a/", "src/b/"]]
        );
    }

    #[test]
    fn the_root_of_a_folder_belongs_to_it() {
        let found = [["src/a/b/", "src/a/mod.rs"]];
        let edges = [
            ("src/a/mod.rs", "src/a/b/x.rs"),
            ("src/a/b/y.rs", "src/a/mod.rs"),
        ];
        assert_eq!(circles(&edges), found);
        let edges = [
            ("src/a.rs", "src/a/x.rs"),
            ("src/b.rs", "src/a.rs"),
            ("src/a/x.rs", "src/c.rs"),
        ];
        assert!(circles(&edges).is_empty());
    }
}
