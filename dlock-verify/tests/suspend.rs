//! Core's clock in a namespace where only `CLOCK_BOOTTIME` is ahead, as it is after a suspend (K2).

use std::{
    env, io,
    process::{Command, ExitCode},
    time::Duration,
};

use dlock_core::{BootInstant, Clock};
use dlock_verify::support::if_available;
use libtest_mimic::{Arguments, Failed, Trial};

/// Makes this program print a reading of its clock.
const READING_ENV: &str = "DLOCK_TEST_CLOCK_READING";

/// How long the namespace was suspended.
const SUSPENDED: Duration = Duration::from_secs(1_000_000);

#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn main() -> ExitCode {
    if env::var_os(READING_ENV).is_some() {
        println!("{}", Clock::boottime().now().as_nanos());
        return ExitCode::SUCCESS;
    }
    let trials = vec![Trial::test(
        "k02_the_clock_goes_on_while_the_machine_is_suspended",
        k02_the_clock_goes_on_while_the_machine_is_suspended,
    )];
    let trials = if_available("time-namespace", available(), trials);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn k02_the_clock_goes_on_while_the_machine_is_suspended() -> Result<(), Failed> {
    let here = Clock::boottime().now();
    let program = env::current_exe()?;
    let output = after_suspend()
        .arg(program)
        .env(READING_ENV, "1")
        .output()?;
    let there = String::from_utf8(output.stdout)?.trim().parse()?;
    let ahead = BootInstant::from_nanos(there).since(here);
    if ahead < SUSPENDED {
        return Err(format!("it went on for {ahead:?} (expected: {SUSPENDED:?})").into());
    }
    Ok(())
}

/// Runs a program where the machine was suspended.
fn after_suspend() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--time", "--boottime"]);
    command.arg(SUSPENDED.as_secs().to_string());
    command
}

fn available() -> Result<(), String> {
    let succeeds =
        |output: io::Result<std::process::Output>| output.is_ok_and(|it| it.status.success());
    if succeeds(after_suspend().arg("true").output()) {
        return Ok(());
    }
    Err("this machine makes no time namespace (unshare --user --time)".to_owned())
}
