//! Each package could be published: it says what it is.

use super::finding::Finding;
use crate::metadata::{Metadata, Package};

/// The registry refuses more.
const KEYWORDS_MAX: usize = 5;

/// The packages that may be published, and lack something for it.
pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let published = metadata
        .packages
        .iter()
        .filter(|package| package.is_published());
    published.flat_map(missing).collect()
}

fn missing(package: &Package) -> impl Iterator<Item = Finding> {
    let has_readme = package
        .readme
        .as_ref()
        .is_some_and(|path| package.directory().join(path).is_file());
    let rules = [
        (package.description.is_some(), "a description"),
        (package.repository.is_some(), "a repository"),
        (has_readme, "a README"),
        (
            (1..=KEYWORDS_MAX).contains(&package.keywords.len()),
            "1 to 5 keywords",
        ),
        (!package.categories.is_empty(), "a category"),
        (
            package.metadata.pointer("/docs/rs").is_some(),
            "[package.metadata.docs.rs]",
        ),
    ];
    let lacking = rules.into_iter().filter(|(is_there, _)| !is_there);
    lacking.map(|(_, what)| Finding::of_file(&package.name, format!("the package needs {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_package_lacks_all_and_one_that_stays_here_needs_nothing() {
        let json = r#"{"workspace_root": "/repo", "packages": [
            {"name": "bare"},
            {"name": "own", "publish": []}
        ]}"#;
        let findings = check(&serde_json::from_str(json).unwrap());
        assert_eq!(findings.len(), 6);
        assert!(
            findings
                .iter()
                .all(|finding| finding.to_string().starts_with("bare: "))
        );
    }
}
