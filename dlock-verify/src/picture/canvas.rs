//! Lanes of marks over a time axis, as text.

use crate::checker::Span;

/// The columns of the names of lanes.
const NAME_WIDTH: usize = 12;

/// The columns of the time.
const WIDTH: usize = 84;

/// The columns between two times on the axis.
const TICK: usize = 14;

/// A row of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) name: String,
    /// Later marks are drawn over earlier ones.
    pub(super) marks: Vec<Mark>,
}

/// Something that lasts in a lane, or happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) span: Span,
    pub(super) style: Style,
    /// Written into the mark, if it has room.
    pub(super) text: String,
}

/// How a mark is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `├── text ──┤`
    Held,
    /// `text·······`
    Waiting,
    /// `▒▒▒ text ▒▒▒`
    Fault,
    /// `│` and the text after it.
    Moment,
}

/// The columns of a span of time.
pub(super) struct Canvas {
    span: Span,
}

impl Canvas {
    pub(super) fn new(span: Span) -> Self {
        Self { span }
    }

    /// The line with the times, which are those of the history.
    pub(super) fn axis(&self) -> String {
        let mut cells = vec![' '; WIDTH + TICK];
        for column in (0..WIDTH).step_by(TICK) {
            let nanos = self.time(column);
            let (seconds, millis) = (nanos / 1_000_000_000, nanos % 1_000_000_000 / 1_000_000);
            write(&mut cells, column, &format!("{seconds}.{millis:03}"));
        }
        line("t (s)", &cells)
    }

    /// The line of a lane.
    pub(super) fn lane(&self, lane: &Lane) -> String {
        let mut cells = vec![' '; WIDTH + 1];
        for mark in &lane.marks {
            self.draw(mark, &mut cells);
        }
        line(&lane.name, &cells)
    }

    fn draw(&self, mark: &Mark, cells: &mut [char]) {
        if mark.span.to < self.span.from || mark.span.from > self.span.to {
            return;
        }
        let (from, to) = (self.column(mark.span.from), self.column(mark.span.to));
        let (fill, first, last) = match mark.style {
            Style::Held => ('─', '├', '┤'),
            Style::Waiting => ('·', '·', '·'),
            Style::Fault => ('▒', '▒', '▒'),
            Style::Moment => ('│', '│', '│'),
        };
        cells[from..=to].fill(fill);
        cells[from] = first;
        // A hold whose end is not drawn has no end mark.
        if mark.span.to <= self.span.to {
            cells[to] = last;
        }
        match mark.style {
            // On the right, or on the left if there is no room.
            Style::Moment => {
                let width = mark.text.chars().count() + 1;
                match from + width < cells.len() || from < width {
                    true => write(cells, from + 2, &mark.text),
                    false => write(cells, from - width, &mark.text),
                }
            }
            Style::Waiting => write_if_room(cells, from, to, &mark.text),
            Style::Held => write_if_room(cells, from + 3, to, &format!(" {} ", mark.text)),
            // A short fault has its name behind it.
            Style::Fault => {
                let text = format!(" {} ", mark.text);
                match text.chars().count() + 4 <= to - from {
                    true => write(cells, from + 2, &text),
                    false => write(cells, to + 1, text.trim_end()),
                }
            }
        }
    }

    fn length(&self) -> u64 {
        (self.span.to - self.span.from).max(1)
    }

    fn column(&self, at: u64) -> usize {
        let at = at.clamp(self.span.from, self.span.to) - self.span.from;
        let column = u128::from(at) * WIDTH as u128 / u128::from(self.length());
        usize::try_from(column).unwrap_or(WIDTH)
    }

    fn time(&self, column: usize) -> u64 {
        let nanos = u128::from(self.length()) * column as u128 / WIDTH as u128;
        self.span.from + u64::try_from(nanos).unwrap_or(0)
    }
}

fn line(name: &str, cells: &[char]) -> String {
    let cells: String = cells.iter().collect();
    let line = format!(" {name:<NAME_WIDTH$}{cells}");
    line.trim_end().to_owned()
}

/// Writes `text` from a column on, as far as there are cells.
fn write(cells: &mut [char], column: usize, text: &str) {
    for (cell, letter) in cells.iter_mut().skip(column).zip(text.chars()) {
        *cell = letter;
    }
}

fn write_if_room(cells: &mut [char], from: usize, to: usize, text: &str) {
    if from + text.chars().count() < to {
        write(cells, from, text);
    }
}
