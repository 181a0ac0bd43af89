//! Sentences of at most 25 words and table cells of at most 12, in pages of text.

pub(super) const SENTENCE_MAX: usize = 25;
pub(super) const CELL_MAX: usize = 12;

/// The lines, from 1, of which the paragraph has a longer sentence: once for each.
pub(super) fn long_sentences(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (line, paragraph) in paragraphs(text) {
        let long = sentences(&paragraph).filter(|sentence| words(sentence) > SENTENCE_MAX);
        found.extend(long.map(|_| line));
    }
    found
}

/// The lines, from 1, with a longer table cell: once for each.
pub(super) fn long_cells(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (number, line) in prose_lines(text) {
        if let Some(row) = line.strip_prefix('|') {
            let long = cells(row).into_iter().filter(|cell| words(cell) > CELL_MAX);
            found.extend(long.map(|_| number));
        }
    }
    found
}

/// Lines outside blocks of code.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Paragraphs and list items, each joined to one line, with the number of the first one.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut last = 0;
    for (number, line) in prose_lines(text) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['|', '#', '<']) {
            continue;
        }
        let item = line.starts_with("* ") || line.starts_with("- ") || starts_with_number(line);
        match found.last_mut() {
            Some((_, text)) if last + 1 == number && !item => {
                text.push(' ');
                text.push_str(line);
            }
            _ => found.push((number, line.to_owned())),
        }
        last = number;
    }
    found
}

fn starts_with_number(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with(". ")
}

/// Parts that end in a mark before a space. A mark within a word or code ends nothing.
fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    let ends = |part: &str| {
        part.trim_end_matches(['*', ')', '"', '_'])
            .ends_with(['.', '?', '!'])
    };
    let mut rest = paragraph;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut spaces = rest.match_indices(' ').map(|(at, _)| at);
        let end = spaces.find(|at| ends(&rest[..*at])).unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        rest = after.trim_start();
        Some(sentence)
    })
}

/// The cells of a row; a bar within code belongs to the code.
fn cells(row: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut in_code = false;
    for c in row.chars() {
        in_code ^= c == '`';
        match found.last_mut() {
            Some(cell) if c != '|' || in_code => cell.push(c),
            _ => found.push(String::new()),
        }
    }
    found
}

/// Words with a letter or a digit. The target of a link is none; code is one.
fn words(text: &str) -> usize {
    let mut seen = String::new();
    let (mut in_code, mut in_target, mut before) = (false, false, ' ');
    for c in text.chars() {
        in_code ^= c == '`';
        in_target |= c == '(' && before == ']';
        if !in_target {
            seen.push(if in_code && c == ' ' { '_' } else { c });
        }
        in_target &= c != ')';
        before = c;
    }
    let has_word = |part: &&str| part.chars().any(char::is_alphanumeric);
    seen.split_whitespace().filter(has_word).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: [usize; 0] = [];

    #[test]
    fn sentences_go_over_lines_and_end_with_their_paragraph() {
        let ten = "one two three four five six seven eight nine ten";
        assert_eq!(
            long_sentences(&format!("# A\n\nFine.\n\n{ten}\n{ten}\n{ten}\n")),
            [5]
        );
        assert_eq!(
            long_sentences(&format!("{ten}\n{ten}.\n{ten}\n\n{ten}\n* {ten}")),
            CLEAN
        );
        assert_eq!(
            long_sentences(&format!("```\n{ten} {ten} {ten}\n```\n")),
            CLEAN
        );
        assert_eq!(
            long_sentences(&format!("{ten} e.g {ten} v1.2 six. {ten}")),
            CLEAN
        );
    }

    #[test]
    fn cells_are_counted_one_by_one() {
        let twelve = "a b c d e f g h i j k l";
        assert_eq!(
            long_cells(&format!("| {twelve} | {twelve} |\n|---|---|")),
            CLEAN
        );
        assert_eq!(
            long_cells(&format!("x\n| {twelve} m | {twelve} m |")),
            [2, 2]
        );
    }

    #[test]
    fn code_is_one_word_and_a_link_has_its_text() {
        assert_eq!(words("see `a | b c` in [the page](docs/x y.md#z) – now"), 6);
        assert_eq!(cells("`a|b` | c").len(), 2);
    }
}
