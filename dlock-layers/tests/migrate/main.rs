//! A migration over two memories: its steps, and what fails in between.

mod advice;
mod faults;
mod gone_record;
mod late_answers;
mod left_over;
mod lost_record;
mod moved;
mod new_store;
mod opening;
mod passed_over;
mod proof;
mod refused;
mod steps;
mod stragglers;
mod support;
mod switch;
mod undo;
