//! The costs of the core itself, on the memory backend: `cargo bench -p dlock-bench`.
//!
//! Prints each figure beside its bound, and fails when one is over it. All bounds are ratios of one
//! run, counts or bytes: this machine's speed is not judged.

#![expect(clippy::print_stdout, reason = "it is what a benchmark is for")]
#![expect(clippy::expect_used, reason = "a benchmark that cannot run has failed")]

mod cycle;
mod figure;
mod held;
mod renewals;
mod waiters;

use std::process::ExitCode;

use crate::figure::Figure;

fn main() -> ExitCode {
    let mut figures = Vec::new();
    figures.extend(cycle::measure());
    figures.extend(held::measure());
    figures.extend(renewals::measure());
    figures.extend(waiters::measure());
    println!();
    let mut code = ExitCode::SUCCESS;
    for Figure { what, is, at_most } in figures {
        let verdict = if is <= at_most { "ok" } else { "OVER" };
        println!("{verdict:>4}  {is:>9.2} of at most {at_most:>7.1}  {what}");
        if is > at_most {
            code = ExitCode::FAILURE;
        }
    }
    code
}
