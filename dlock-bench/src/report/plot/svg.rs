//! The elements that figures are made of.

use std::fmt::Write as _;

use maud::{Markup, Render, html};

/// A coordinate with one digit behind the point. What is not a number becomes 0: the scales give none.
#[derive(Clone, Copy, Debug)]
pub(super) struct At(pub(super) f64);

/// On which side of its place a text lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Render for At {
    fn render_to(&self, buffer: &mut String) {
        let usable = if self.0.is_finite() { self.0 } else { 0.0 };
        let tenths = (usable * 10.0).round() / 10.0;
        // Writing to a string does not fail; `+ 0.0` makes a zero of a minus zero.
        let _ = write!(buffer, "{}", tenths + 0.0);
    }
}

/// A figure of that size, with what a screen reader says for it.
pub(super) fn figure(size: (f64, f64), says: &str, body: &Markup) -> Markup {
    html! {
        svg viewBox={ "0 0 " (At(size.0)) " " (At(size.1)) } role="img" aria-label=(says) { (body) }
    }
}

pub(super) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line class=(class) x1=(At(from.0)) y1=(At(from.1)) x2=(At(to.0)) y2=(At(to.1)) {} }
}

pub(super) fn text(class: &str, at: (f64, f64), anchor: Anchor, words: &str) -> Markup {
    let anchor = match anchor {
        Anchor::Start => None,
        Anchor::Middle => Some("middle"),
        Anchor::End => Some("end"),
    };
    html! { text class=(class) x=(At(at.0)) y=(At(at.1)) text-anchor=[anchor] { (words) } }
}

pub(super) fn rect(class: &str, at: (f64, f64), size: (f64, f64)) -> Markup {
    html! { rect class=(class) x=(At(at.0)) y=(At(at.1)) width=(At(size.0)) height=(At(size.1)) rx="1.5" {} }
}

/// A polygon of equal sides; `turn` is a part of a whole turn.
pub(super) fn polygon(class: &str, at: (f64, f64), radius: f64, corners: u8, turn: f64) -> Markup {
    let points = (0..corners).map(|corner| {
        let angle = f64::from(corner) / f64::from(corners) + turn - 0.25;
        let (sine, cosine) = (angle * std::f64::consts::TAU).sin_cos();
        (at.0 + radius * cosine, at.1 + radius * sine)
    });
    let points: Vec<_> = points.collect();
    html! { polygon class=(class) points=(Points(&points)) {} }
}

/// A line through points.
pub(super) fn path(class: &str, points: &[(f64, f64)], title: Option<&str>) -> Markup {
    html! {
        polyline class=(class) points=(Points(points)) { @if let Some(title) = title { title { (title) } } }
    }
}

/// A closed area.
pub(super) fn area(class: &str, points: &[(f64, f64)], title: Option<&str>) -> Markup {
    html! {
        polygon class=(class) points=(Points(points)) { @if let Some(title) = title { title { (title) } } }
    }
}

struct Points<'a>(&'a [(f64, f64)]);

impl Render for Points<'_> {
    fn render_to(&self, buffer: &mut String) {
        for (number, (x, y)) in self.0.iter().enumerate() {
            if number > 0 {
                buffer.push(' ');
            }
            At(*x).render_to(buffer);
            buffer.push(',');
            At(*y).render_to(buffer);
        }
    }
}

/// About how wide a text is, in the figure's units, as CSS enlarges it on a phone.
pub(super) fn width(words: &str) -> f64 {
    let characters = u32::try_from(words.chars().count()).unwrap_or(u32::MAX);
    f64::from(characters) * 7.4
}
