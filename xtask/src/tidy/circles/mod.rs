//! No file or folder uses another one that uses it: the arrows of the architecture point one way.

mod folders;
mod graph;
mod imports;
mod known;
mod modules;

use std::{collections::BTreeSet, path::Path};

use self::{
    graph::Edges,
    known::{KNOWN, Known},
};
use super::finding::Finding;
use crate::{
    failure::Result,
    metadata::{Metadata, Package},
};

/// The circles in each package that are not [`KNOWN`], and those of the list that are gone.
///
/// # Errors
///
/// When a file cannot be read or parsed.
pub(super) fn check(metadata: &Metadata) -> Result<Vec<Finding>> {
    let mut found = BTreeSet::new();
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let files = edges(package, &metadata.workspace_root)?;
        let levels = folders::levels(&files);
        let of_files = graph::circles(&files)
            .into_iter()
            .map(|circle| (&files, circle));
        let of_folders = levels.iter().flat_map(|level| {
            let circles = graph::circles(level)
                .into_iter()
                .filter(|circle| has_folder(circle));
            circles.map(move |circle| (level, circle))
        });
        for (edges, circle) in of_files.chain(of_folders) {
            findings.extend(judge(edges, &circle, KNOWN));
            found.insert(circle);
        }
    }
    findings.extend(gone(&found, KNOWN));
    Ok(findings)
}

/// A circle of files alone is found among the files.
fn has_folder(circle: &[String]) -> bool {
    circle.iter().any(|node| node.ends_with('/'))
}

fn judge(edges: &Edges, circle: &[String], known: &[Known]) -> Option<Finding> {
    if known.iter().any(|known| known.circle == circle) {
        return None;
    }
    let example = graph::example(edges, circle).join(" → ");
    let message = format!(
        "a circle of {}, such as {example}; all: {circle:?}",
        circle.len()
    );
    Some(Finding::of_file(
        circle.first().map_or("", String::as_str),
        message,
    ))
}

fn gone<'a>(
    found: &'a BTreeSet<Vec<String>>,
    known: &'a [Known],
) -> impl Iterator<Item = Finding> + 'a {
    let is_there = |known: &Known| found.iter().any(|circle| known.circle == circle);
    known
        .iter()
        .filter(move |known| !is_there(known))
        .map(|known| {
            let message = format!(
                "this circle is gone: take it out of xtask/src/tidy/circles/known.rs ({})",
                known.reason
            );
            Finding::of_file(&known.circle.join(", "), message)
        })
}

/// Which file of a package uses which other one, over all of its crates.
fn edges(package: &Package, root: &Path) -> Result<Edges> {
    let name = |path: &Path| relative(path, root);
    let mut edges = Edges::new();
    for target in &package.targets {
        for (from, to) in imports::edges(&modules::load(&target.src_path)?) {
            edges.entry(name(&from)).or_default().insert(name(&to));
        }
    }
    Ok(edges)
}

/// `path` below `root`, without its `..`.
fn relative(path: &Path, root: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = path.strip_prefix(root).unwrap_or(&path);
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
