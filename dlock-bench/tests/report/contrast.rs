//! Text can be read in light and dark: the contrast of WCAG 2, level AA.

use crate::sample::{parsed, run, verified};

/// Text on its background: 4.5 at least.
const TEXT: [(&str, &str); 19] = [
    ("ink", "bg"),
    ("ink", "card"),
    ("ink", "wab"),
    ("ink", "no"),
    ("mut", "bg"),
    ("mut", "card"),
    ("mut", "no"),
    ("ok", "okb"),
    ("wa", "wab"),
    ("ba", "bab"),
    ("ok", "card"),
    ("wa", "card"),
    ("ba", "card"),
    ("c0", "card"),
    ("c1", "card"),
    ("c2", "card"),
    ("c3", "card"),
    ("c4", "card"),
    ("c5", "card"),
];
/// Marks on their background: 3 at least.
const MARKS: [(&str, &str); 1] = [("flo", "card")];

#[test]
fn text_can_be_read_in_light_and_in_dark() {
    let css = parsed(&verified(&run()), |root| {
        let style = root.descendants().find(|node| node.has_tag_name("style"));
        style
            .and_then(|style| style.text())
            .expect("a style")
            .to_owned()
    });
    let themes: Vec<&str> = css.split(":root {").skip(1).take(2).collect();
    assert_eq!(themes.len(), 2, "light and dark");
    for theme in themes {
        let theme = theme.split('}').next().expect("the variables");
        for (pairs, least) in [(TEXT.as_slice(), 4.5), (MARKS.as_slice(), 3.0)] {
            for (front, back) in pairs {
                let contrast = contrast(luminance(theme, front), luminance(theme, back));
                assert!(
                    contrast >= least,
                    "{front} on {back} has {contrast:.2} in{theme}"
                );
            }
        }
    }
}

fn contrast(a: f64, b: f64) -> f64 {
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The relative luminance of a variable of a theme.
fn luminance(theme: &str, variable: &str) -> f64 {
    let start = format!("--{variable}: #");
    let (_, rest) = theme
        .split_once(&start)
        .unwrap_or_else(|| panic!("--{variable} is missing"));
    let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    let digits = match digits.len() {
        3 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
        _ => digits,
    };
    let part = |from: usize| {
        let part =
            f64::from(u8::from_str_radix(&digits[from..from + 2], 16).expect("a colour")) / 255.0;
        if part <= 0.03928 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}
