//! A migration over two memories: its steps, and what fails in between.

mod advice;
mod faults;
mod lost_record;
mod moved;
mod opening;
mod proof;
mod refused;
mod steps;
mod stragglers;
mod support;
mod switch;
