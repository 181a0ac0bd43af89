//! The page and its figures are as they were. `DLOCK_BENCH_GOLDEN=write` writes the files instead.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use crate::sample::{html, parsed, run, verified};

const WRITE: &str = "DLOCK_BENCH_GOLDEN";

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/golden"))
}

#[test]
fn the_page_and_its_figures_are_as_they_were() {
    let mut files = figures(&verified(&run()));
    files.insert("page.html".to_owned(), without_figures(&verified(&run())));
    files.insert(
        "page-not-verified.html".to_owned(),
        without_figures(&html(&run())),
    );
    if env::var_os(WRITE).is_some_and(|value| value == "write") {
        for (name, text) in &files {
            fs::write(folder().join(name), text).expect("a golden file");
        }
    }
    for (name, text) in files {
        let golden = fs::read_to_string(folder().join(&name)).unwrap_or_default();
        let line = golden
            .lines()
            .zip(text.lines())
            .position(|(old, new)| old != new);
        let line = line.unwrap_or_else(|| golden.lines().count().min(text.lines().count()));
        assert!(
            golden == text,
            "{name} differs from line {}:\n  was {}\n  is  {}\nIf it is meant, run the test with {WRITE}=write.",
            line + 1,
            golden.lines().nth(line).unwrap_or("nothing"),
            text.lines().nth(line).unwrap_or("nothing"),
        );
    }
}

/// The figures of a page, by the begin of their descriptions.
fn figures(page: &str) -> BTreeMap<String, String> {
    parsed(page, |root| {
        let figures = root
            .descendants()
            .filter(|node| node.attribute("role") == Some("img"));
        let named = figures.map(|figure| {
            let label = figure.attribute("aria-label").unwrap_or_default();
            let title = label.split(". ").next().unwrap_or_default().to_lowercase();
            let name = title.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
            (format!("{name}.svg"), lines(&page[figure.range()]))
        });
        named.collect()
    })
}

/// The page without its figures, its style and its data, which are long.
fn without_figures(page: &str) -> String {
    let cuts = parsed(page, |root| {
        let long = root.descendants().filter(|node| {
            let is_figure = node.attribute("role") == Some("img");
            is_figure || node.has_tag_name("style") || node.has_tag_name("template")
        });
        long.map(|node| node.range()).collect::<Vec<_>>()
    });
    let mut text = page.to_owned();
    for cut in cuts.into_iter().rev() {
        text.replace_range(cut, "…");
    }
    lines(&text)
}

/// An element on each line, so that a difference is short.
fn lines(markup: &str) -> String {
    markup.replace("><", ">\n<") + "\n"
}
