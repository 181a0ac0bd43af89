//! Lines of a bounded width.

/// The words of `text` in lines of at most `width` characters; a longer word has a line of its own.
///
/// A line that fits keeps its spaces: it may be a part of a picture.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width && !text.contains('\n') {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        let needed = line.chars().count() + 1 + word.chars().count();
        if line.is_empty() {
            line.push_str(word);
        } else if needed <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_lines_short() {
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("a bc  def\ngh", 5), ["a bc", "def", "gh"]);
        assert_eq!(wrap("a CONFIG b", 3), ["a", "CONFIG", "b"]);
        assert_eq!(wrap("über über", 9), ["über über"]);
        assert_eq!(wrap("  |--|  ", 9), ["  |--|  "]);
    }
}
