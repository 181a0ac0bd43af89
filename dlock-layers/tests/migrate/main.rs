//! A migration over two memories: its steps, and what fails in between.

mod faults;
mod refused;
mod steps;
mod support;
mod switch;
