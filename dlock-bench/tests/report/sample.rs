//! Runs and verdicts to make reports of.

use dlock_bench::{data::Run, report};
use dlock_verify::verdict::Document;
use roxmltree::{Node, ParsingOptions};

/// A run of five stores with all workloads.
pub(crate) fn run() -> Run {
    Run::parse(include_str!("../data/sample.json")).expect("the sample is the data of a run")
}

/// Verdicts about its stores.
pub(crate) fn verdicts() -> Document {
    Document::from_json(include_str!("verdicts.json")).expect("the sample is a document")
}

/// The sample with a change.
pub(crate) fn changed(change: impl FnOnce(&mut Run)) -> Run {
    let mut run = run();
    change(&mut run);
    run
}

pub(crate) fn html(run: &Run) -> String {
    report::html(run).expect("a report")
}

pub(crate) fn verified(run: &Run) -> String {
    html(&with(run, verdicts()))
}

/// The run with verdicts.
pub(crate) fn with(run: &Run, verdicts: Document) -> Run {
    let mut run = run.clone();
    run.verdicts = Some(verdicts);
    run
}

/// Calls `check` with the root element of a page, which is well-formed.
pub(crate) fn parsed<T>(page: &str, check: impl FnOnce(Node<'_, '_>) -> T) -> T {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = roxmltree::Document::parse_with_options(page, options);
    check(document.expect("a page that is well-formed").root_element())
}

/// All words of an element, those of its tooltips not.
pub(crate) fn words(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(|text| {
        let is_hidden = |parent: Node<'_, '_>| {
            ["title", "style", "template"].contains(&parent.tag_name().name())
        };
        text.is_text() && !text.ancestors().any(is_hidden)
    });
    let texts: Vec<&str> = texts.filter_map(|text| text.text()).collect();
    let words = texts.join(" ");
    // A space that does not break is a space, too.
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All words of a page.
pub(crate) fn words_of(page: &str) -> String {
    parsed(page, words)
}

/// The elements of a page with that class.
pub(crate) fn words_of_class(page: &str, class: &str) -> Vec<String> {
    parsed(page, |root| {
        let found = root.descendants().filter(|node| {
            let classes = node.attribute("class").unwrap_or_default();
            classes.split(' ').any(|each| each == class)
        });
        found.map(words).collect()
    })
}
