//! A report is safe to open: no script, nothing from elsewhere, readable by machines and screen readers.

use dlock_bench::{data::Run, report};
use roxmltree::Node;

use crate::sample::{changed, html, parsed, run, verdicts, verified, with};

/// A text that would be harmful if it were not escaped.
const HOSTILE: &str =
    r#"</template></style><script>alert(1)</script><img src=x onerror="alert(1)">&amp;'"]]>"#;

fn assert_harmless(page: &str) {
    parsed(page, |root| {
        for element in root.descendants().filter(Node::is_element) {
            let name = element.tag_name().name();
            let loads = [
                "script", "link", "iframe", "object", "embed", "img", "image", "use", "base",
                "form", "a",
            ];
            assert!(!loads.contains(&name), "<{name}> in the report");
            for attribute in element.attributes() {
                let (key, value) = (attribute.name(), attribute.value());
                assert!(!key.starts_with("on"), "{key} in <{name}>");
                assert!(
                    !["href", "src", "srcset", "action", "data"].contains(&key),
                    "{key} in <{name}>"
                );
                assert!(
                    key != "style" || value.starts_with("width:"),
                    "style={value} in <{name}>"
                );
            }
        }
        let style = root.descendants().find(|node| node.has_tag_name("style"));
        let css = style.and_then(|style| style.text()).expect("a style");
        assert!(
            !css.contains("url(") && !css.contains("@import"),
            "the style loads something"
        );
    });
}

#[test]
fn a_report_has_no_script_and_loads_nothing() {
    assert_harmless(&verified(&run()));
    assert_harmless(&html(&run()));
}

#[test]
fn hostile_text_is_shown_and_does_nothing() {
    let run = changed(|run| {
        run.rounds.clear();
        run.version = HOSTILE.to_owned();
        run.seed = HOSTILE.to_owned();
        run.begun_at = HOSTILE.to_owned();
        run.machine.processor = Some(HOSTILE.to_owned());
        run.noise.reasons = vec![HOSTILE.to_owned()];
        for store in &mut run.stores {
            store.label.push_str(HOSTILE);
            store.url = format!("redis://{HOSTILE}");
            store.server = Some(HOSTILE.to_owned());
            store.floor = Some(HOSTILE.to_owned());
            store.notes = vec![HOSTILE.repeat(100); 20];
            store.error = Some(HOSTILE.to_owned());
        }
    });
    let page = html(&run);
    assert_harmless(&page);
    assert!(page.contains("&lt;script&gt;alert(1)"), "the text is shown");
    assert!(page.len() <= report::SIZE_MAX, "{} bytes", page.len());
}

#[test]
fn hostile_data_is_read_back() {
    let run = changed(|run| {
        run.rounds.clear();
        run.stores[0].url = HOSTILE.to_owned();
        run.stores[1].notes = vec![HOSTILE.to_owned()];
    });
    let page = html(&run);
    assert_harmless(&page);
    assert!(
        Run::parse(&page).expect("the data") == run,
        "the data is another"
    );
}

#[test]
fn the_data_is_inside() {
    // Half of the rounds fit, or a few beside the verdicts.
    let [some, few] = [20, 4].map(|rounds| changed(|run| run.rounds.truncate(rounds)));
    for run in [some, with(&few, verdicts())] {
        let page = html(&run);
        assert!(
            Run::parse(&page).expect("the data") == run,
            "the data is another"
        );
    }
}

#[test]
fn a_report_has_a_bound_and_says_what_it_left_out() {
    let run = changed(|run| {
        let rounds = run.rounds.clone();
        run.rounds = std::iter::repeat_n(rounds, 20).flatten().collect();
    });
    let page = verified(&run);
    assert!(page.len() <= report::SIZE_MAX, "{} bytes", page.len());
    assert!(page.contains("The raw rounds are too many for this file"));
    let inside = Run::parse(&page).expect("the data");
    assert!(inside.rounds.is_empty());
    assert!(inside.stores == run.stores, "the stores are others");
    assert!(inside.verdicts.is_some());
}

#[test]
fn a_report_with_long_verdicts_keeps_the_measurements() {
    let mut verdicts = verdicts();
    let clause = &mut verdicts.stores[0].clauses[0];
    clause.witness = vec!["a line that proves it".repeat(10); 300];
    let run = with(&run(), verdicts);
    let page = html(&run);
    assert!(page.len() <= report::SIZE_MAX, "{} bytes", page.len());
    assert!(page.contains("The raw rounds and the verdicts are too many for this file"));
    let inside = Run::parse(&page).expect("the data");
    assert!(inside.rounds.is_empty() && inside.verdicts.is_none());
    assert!(inside.stores == run.stores, "the stores are others");
}

#[test]
fn a_screen_reader_finds_its_way() {
    parsed(&verified(&run()), |root| {
        assert_eq!(root.attribute("lang"), Some("en"));
        for element in root.descendants().filter(Node::is_element) {
            match element.tag_name().name() {
                "svg" => {
                    let is_hidden = element.attribute("aria-hidden") == Some("true");
                    let label = element.attribute("aria-label").unwrap_or_default();
                    let is_described = element.attribute("role") == Some("img") && label.len() > 20;
                    assert!(is_hidden || is_described, "a figure without words");
                }
                "th" => assert!(
                    element.attribute("scope").is_some(),
                    "a header without a scope"
                ),
                _ => {}
            }
        }
        let headings = elements_named(root, &["h1", "h2", "h3", "h4"]);
        assert_eq!(headings.iter().filter(|level| **level == 1).count(), 1);
        for pair in headings.windows(2) {
            assert!(
                pair[1] <= pair[0] + 1,
                "a heading of level {} after {}",
                pair[1],
                pair[0]
            );
        }
    });
}

/// The levels of the headings, in their order.
fn elements_named(root: Node<'_, '_>, names: &[&str]) -> Vec<usize> {
    let found = root.descendants().filter_map(|node| {
        let name = node.tag_name().name();
        names.iter().position(|other| *other == name)
    });
    found.map(|place| place + 1).collect()
}
