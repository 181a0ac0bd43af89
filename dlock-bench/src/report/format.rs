//! Numbers as the report writes them: three digits and a unit, which never break across lines.

/// Between a number and its unit.
const NO_BREAK: char = '\u{a0}';
/// Between groups of three digits.
const NARROW: char = '\u{202f}';

/// For a figure that is not a number.
pub(super) const NONE: &str = "–";

const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
const SIZES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];

/// A time, given in nanoseconds.
pub(super) fn time(nanos: f64) -> String {
    in_unit(nanos, &TIMES)
}

/// A size, given in bytes.
pub(super) fn size(bytes: f64) -> String {
    in_unit(bytes, &SIZES)
}

/// How long something took, in whole seconds: `14 min 20 s`.
pub(super) fn span(millis: u64) -> String {
    let seconds = millis.div_ceil(1_000);
    let parts = [
        (seconds / 3_600, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts
        .map(|(number, unit)| format!("{number}{NO_BREAK}{unit}"))
        .collect();
    if parts.is_empty() {
        return format!("0{NO_BREAK}s");
    }
    parts.join(" ")
}

/// A time that was set, or that an axis has: without needless zeros.
pub(super) fn plain_time(nanos: f64) -> String {
    if nanos <= 0.0 {
        return "0".to_owned();
    }
    let (scale, unit) = unit_of(nanos, &TIMES);
    format!("{}{NO_BREAK}{unit}", significant(nanos / scale))
}

/// A number for an axis: `500`, `2 k`, `1 M`.
pub(super) fn axis_count(count: f64) -> String {
    let (scale, unit) = unit_of(count, &[(1e6, "M"), (1e3, "k"), (1.0, "")]);
    let text = format!("{}{NO_BREAK}{unit}", significant(count / scale));
    text.trim_end_matches(NO_BREAK).to_owned()
}

/// A whole number in groups of three digits.
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let grouped: Vec<char> = (digits.chars().rev().enumerate())
        .flat_map(|(place, digit)| {
            let gap = (place > 0 && place % 3 == 0).then_some(NARROW);
            gap.into_iter().chain([digit])
        })
        .collect();
    grouped.into_iter().rev().collect()
}

/// A measured number in three significant digits: `0.42`, `3.14`, `67 400`.
pub(super) fn rate(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value < 0.095 && value > 0.0 {
        return small(value);
    }
    if value < 99.95 {
        return digits(value);
    }
    let magnitude = 10_f64.powf(value.log10().floor() - 2.0);
    count(whole((value / magnitude).round() * magnitude))
}

/// A ratio in two digits behind the point, fewer for large ones.
pub(super) fn ratio(value: f64) -> String {
    match value {
        value if !value.is_finite() => NONE.to_owned(),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => rate(value),
    }
}

/// A number with so many digits behind the point.
pub(super) fn fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    format!("{value:.digits$}")
}

/// A part of one, in percent.
pub(super) fn percent(part: f64) -> String {
    let value = part * 100.0;
    match value {
        value if !value.is_finite() => NONE.to_owned(),
        value if value < 0.095 && value > 0.0 => format!("{}{NO_BREAK}%", small(value)),
        value if value < 9.95 => format!("{value:.1}{NO_BREAK}%"),
        value => format!("{value:.0}{NO_BREAK}%"),
    }
}

/// `1 store`, `2 stores`.
pub(super) fn plural(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{}{NO_BREAK}{noun}{ending}", count(number as u64))
}

/// The words in at most so many characters.
pub(super) fn clipped(words: &str, characters: usize) -> String {
    if words.chars().count() <= characters {
        return words.to_owned();
    }
    let kept = words.chars().take(characters.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// The words as a sentence.
pub(super) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect());
    let stop = if words.is_empty() || words.ends_with('.') {
        ""
    } else {
        "."
    };
    format!("{first}{}{stop}", letters.as_str())
}

/// A count as a number to calculate with. Above 2^53 the last digits are lost, which no reader sees.
#[expect(clippy::cast_precision_loss, reason = "a figure of three digits")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// The nearest whole number; 0 for what is none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and is for figures of three digits"
)]
pub(super) fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// The middle one of the values; 0 without any.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    let lower = sorted.len().saturating_sub(1) / 2;
    let [lower, upper] = [lower, upper].map(|place| sorted.get(place).copied().unwrap_or_default());
    f64::midpoint(lower, upper)
}

fn in_unit(value: f64, units: &[(f64, &'static str)]) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value <= 0.0 {
        let smallest = units.last().map_or("", |(_, unit)| unit);
        return format!("0{NO_BREAK}{smallest}");
    }
    let (scale, unit) = unit_of(value, units);
    format!("{}{NO_BREAK}{unit}", digits(value / scale))
}

/// The largest unit in which the value is at least 1, after rounding to three digits.
fn unit_of(value: f64, units: &[(f64, &'static str)]) -> (f64, &'static str) {
    let fits = |(scale, _): &&(f64, &str)| value >= scale * 0.9995;
    let smallest = units.last().copied().unwrap_or((1.0, ""));
    units.iter().find(fits).copied().unwrap_or(smallest)
}

/// A small number in two significant digits; below a ten thousandth it is called that.
fn small(value: f64) -> String {
    match value {
        value if value < 0.000_1 => "< 0.0001".replace(' ', &NO_BREAK.to_string()),
        value if value < 0.000_95 => format!("{value:.5}"),
        value if value < 0.009_5 => format!("{value:.4}"),
        value => format!("{value:.3}"),
    }
}

/// Three digits.
fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// At most three digits, without zeros at the end.
fn significant(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = digits(value);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace([NO_BREAK, NARROW], " ")
    }

    #[test]
    fn a_time_has_three_digits_and_its_unit() {
        let nanos = [0.0, 950.0, 1_234.0, 999_960.0, 4_321_000.0, 12e9, 4_000e9];
        let shown = nanos.map(|nanos| plain(&time(nanos)));
        let expected = [
            "0 ns", "950 ns", "1.23 µs", "1.00 ms", "4.32 ms", "12.0 s", "4000 s",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_rate_has_three_digits_in_groups() {
        let shown = [0.0, 0.003_4, 0.4, 3.25, 99.97, 742.0, 67_449.0, 1_234_567.0].map(rate);
        let expected = [
            "0",
            "0.0034",
            "0.40",
            "3.25",
            "100",
            "742",
            "67 400",
            "1 230 000",
        ];
        assert_eq!(shown.map(|text| plain(&text)), expected);
    }

    #[test]
    fn an_axis_has_no_needless_zeros() {
        let shown = [500.0, 2_000.0, 1e6].map(axis_count);
        assert_eq!(shown.map(|text| plain(&text)), ["500", "2 k", "1 M"]);
        assert_eq!(plain(&plain_time(1e7)), "10 ms");
        assert_eq!(plain(&plain_time(2.5e9)), "2.5 s");
    }

    #[test]
    fn what_is_not_a_number_is_a_dash() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for show in [time, size, rate, ratio, percent] {
            assert_eq!(odd.map(show), [NONE; 3]);
        }
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median(&[9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 9.0]) - 3.0).abs() < 1e-9);
        assert!(median(&[]).abs() < 1e-9);
    }

    #[test]
    fn a_span_has_whole_seconds() {
        let shown = [0, 900, 860_000, 3_600_000].map(span);
        assert_eq!(
            shown.map(|text| plain(&text)),
            ["0 s", "1 s", "14 min 20 s", "1 h"]
        );
    }

    #[test]
    fn words_become_a_sentence() {
        let shown = ["renewals come late", "A lock can vanish.", ""].map(sentence);
        assert_eq!(shown, ["Renewals come late.", "A lock can vanish.", ""]);
    }

    #[test]
    fn nouns_have_their_plural() {
        assert_eq!(plain(&plural(1, "store")), "1 store");
        assert_eq!(plain(&plural(1_200, "grant")), "1 200 grants");
    }
}
