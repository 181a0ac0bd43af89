//! Signals without a terminal: the command has a process group of its own.

use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

use crate::support::{Program, Store};

/// A shell that waits for its child `cat` until that gets a signal to end. Its own words about the child do
/// not matter.
fn start(store: &Store, trap: &str) -> Program {
    let script = format!("exec 2>/dev/null; {trap}; cat");
    let mut program = store.start(&["run", "a", "--", "sh", "-c", &script]);
    hear_cat(&mut program);
    program
}

/// Waits until `cat` is there: a shell runs its traps only when its child has ended.
fn hear_cat(program: &mut Program) {
    program.say("ready");
    assert_eq!(program.line(), "ready");
}

#[test]
fn signals_reach_the_command_and_its_exit_code_comes_back() {
    let signals = [
        (Signal::INT, "INT"),
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
    ];
    for (signal, name) in signals {
        let store = Store::new();
        let program = start(&store, &format!("trap 'echo got {name}; exit 3' {name}"));
        program.send(signal);
        // `cat` gets it, too, or the shell would wait for it.
        assert_eq!(program.silence(), [format!("got {name}")]);
        assert_eq!(program.end(), (3, String::new()));
        assert!(store.is_free("a"));
    }
}

#[test]
fn a_command_ended_by_a_signal_is_128_and_its_number() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let store = Store::new();
        let program = start(&store, ":");
        program.send(signal);
        assert_eq!(program.end(), (code, String::new()));
        assert!(store.is_free("a"));
    }
}

#[test]
fn a_second_signal_is_passed_on_as_well() {
    let store = Store::new();
    // The first TERM is taken note of, the second one ends it.
    let mut program = start(&store, "trap 'echo first; trap \"exit 4\" TERM' TERM; cat");
    program.send(Signal::TERM);
    assert_eq!(program.line(), "first");
    hear_cat(&mut program);
    program.send(Signal::TERM);
    assert_eq!(program.end().0, 4);
}

#[test]
fn a_signal_ends_the_wait_and_leaves_nothing_queued() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::QUIT, 131)] {
        let store = Store::new();
        let mut holder = start(&store, ":");
        let waiting = store.start(&["-v", "run", "a", "--forever", "--", "echo", "entered"]);
        waiting.requests_the_lock();
        waiting.send(signal);
        let (ended, _) = waiting.end();
        assert_eq!(ended, code);
        assert_eq!(waiting.silence(), Vec::<String>::new());
        holder.stdin = None;
        assert_eq!(holder.end().0, 0);
        assert!(store.is_free("a"));
    }
}

#[test]
fn stop_and_continue_reach_the_command() {
    let store = Store::new();
    let script = "trap 'echo stopped' TSTP; trap 'echo continued; exit 5' CONT; echo ready; \
                  while :; do read line; done";
    let program = store.start(&["run", "a", "--", "sh", "-c", script]);
    assert_eq!(program.line(), "ready");
    program.send(Signal::TSTP);
    assert_eq!(program.line(), "stopped");
    let id = WaitId::Pid(program.pid());
    waitid(id, WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT).expect("dlock stops as well");
    program.send(Signal::CONT);
    assert_eq!(program.line(), "continued");
    assert_eq!(program.end().0, 5);
}

#[test]
fn a_signal_that_was_ignored_before_stays_ignored() {
    let store = Store::new();
    let dlock = format!("exec {} --url {}", env!("CARGO_BIN_EXE_dlock"), store.url());
    let script = format!("trap '' HUP; {dlock} run a -- sh -c 'echo ready; read line; echo $line'");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]);
    let mut program = Program::start(command);
    assert_eq!(program.line(), "ready");
    program.send(Signal::HUP);
    program.say("still there");
    assert_eq!(program.line(), "still there");
    assert_eq!(program.end().0, 0);
}
