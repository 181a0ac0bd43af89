//! No file or folder uses another one that uses it: the arrows of the architecture point one way.

mod folders;
mod graph;
mod imports;
mod modules;

use std::path::Path;

use self::graph::Edges;
use super::finding::Finding;
use crate::{
    failure::Result,
    metadata::{Metadata, Package},
};

/// The circles in each package.
///
/// # Errors
///
/// When a file cannot be read or parsed.
pub(super) fn check(metadata: &Metadata) -> Result<Vec<Finding>> {
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
            findings.push(finding(edges, &circle));
        }
    }
    Ok(findings)
}

/// A circle of files alone is found among the files.
fn has_folder(circle: &[String]) -> bool {
    circle.iter().any(|node| node.ends_with('/'))
}

fn finding(edges: &Edges, circle: &[String]) -> Finding {
    let example = graph::example(edges, circle).join(" → ");
    let message = format!(
        "a circle of {}, such as {example}; all: {circle:?}",
        circle.len()
    );
    Finding::of_file(circle.first().map_or("", String::as_str), message)
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
