//! The texts below the options in `--help`. A line of prose goes on in the next one: clap breaks the lines where the
//! terminal ends.

/// `text` with each paragraph in one line. Lines that are indented stay as they are, and so does what is before them.
pub(crate) fn flowing(text: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut flowing = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        flowing.push_str(line);
        let Some(next) = lines.peek() else {
            break;
        };
        let goes_on = is_prose(line) && is_prose(next) && !line.ends_with(':');
        flowing.push(if goes_on { ' ' } else { '\n' });
    }
    flowing
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  dlock run nightly-report --try -- ./report.sh     skip it if another one is running
  dlock run deploy --wait 10m -- make deploy        wait for up to ten minutes
  dlock run counter -- sh -c 'echo $DLOCK_TOKEN'    print a number that grows with each run
  dlock inspect deploy                              show the holder
  dlock --url redis://db-1 run deploy -- make       under a lock that all hosts share

Without a store locks are files of the user, and exclude no other host. dlock says so on stderr,
unless --url file: names that store. With DLOCK_REQUIRE_URL=1 it is an error. A dlock.toml in the
current directory is refused if another user owns it, or if others may write it and it has a
password.

`dlock COMMAND --help` has the options, examples and exit codes of a command. All users of a machine
can see arguments: give a password by password_file= in the URL, or in DLOCK_URL.";

pub(crate) const RUN: &str = "\
TIME is a number with a unit: 500ms, 30s, 10m, 1h 30m.

Examples:
  dlock run nightly-report --try -- ./report.sh     skip it if another one is running
  dlock run deploy --wait 10m -- make deploy        wait for up to ten minutes
  dlock run backup --ttl 2m --grace 20s -- ./b.sh   20 seconds to stop if renewals fail
  dlock run stats --try --skip-ok --at-least 1m -- ./stats.sh
      for cron on many hosts: one of them runs it, although their clocks differ

A store that cannot be reached is waited for with --wait, --forever and the URL's connect_wait=. dlock
says once that it waits. A wrong URL, user or password ends it at once.

Environment of the command:
  DLOCK_NAME   the name of the lock
  DLOCK_TOKEN  the fencing token: a number that grows with each grant. A resource that refuses
               smaller numbers than its largest one is safe from late writes. It is not set if the
               store has no such tokens, as a quorum of etcd or ZooKeeper.
  DLOCK_URL    as dlock has it. One with a password is withheld, unless --keep-url is given.

Exit codes: the code of the command, 128 + n if signal n ended it, or one of these:
  64   wrong usage or configuration, or the store refused this user
  69   the store could not be reached
  70   an internal error, or a call to the system failed
  75   the lock was not acquired in time; 0 with --skip-ok
  76   the lock was lost or about to expire while the command ran
  126  the command cannot be executed
  127  the command is not found
  128 + n  signal n ended dlock while it waited for the lock

Signals: dlock passes them on to the command.
  * Without a terminal (cron, CI, a service) the command has its own process group. Signals go to
    the whole group, and so does the KILL after a loss.
  * With a terminal the command is in dlock's group. Ctrl-Z stops both, and a lock with a ttl is
    then lost. The KILL reaches the command and the processes that it started, but none that has
    become a daemon. To reach those too, use `setsid --wait dlock run …`.
  * A TERM that reaches the command by itself, too, comes to it twice. `kill -- -GROUP` on a terminal
    and systemd do that. Send it to dlock alone, in systemd by KillMode=mixed.
  * --at-least ends with the first signal, also one that came while the command ran.

Waiting: after a second on a terminal, one line has the holder and how long dlock waits. With -v the
line comes without a terminal, too. --quiet leaves it out.

End: dlock releases the lock when the command ends, even if children of the command go on.
  * If dlock is killed (SIGKILL, out of memory), a second process of it, the guardian, kills the
    command's group at once. With a terminal the system kills the command, but not its children.
    A command of su or sudo may go on: dlock says so at the start.
  * A stopped dlock (SIGSTOP) can neither renew the lock nor end the command.
  For these cases, have the resource check the token.";

pub(crate) const INSPECT: &str = "\
Examples:
  dlock inspect deploy
  dlock inspect deploy --json

Exit codes:
  0   the lock is held
  1   the lock is free
  64  wrong usage or configuration, or the store refused this user
  69  the store could not be reached
  70  an internal error, or a call to the system failed

The lock may change before you read the output. To act only if it is free, use `dlock run --try`.

JSON: name, held, holder. The holder is null if the lock is free. Otherwise it has host, pid, note,
token, attempt, mode, since, remaining_ms and doubt, a warning for people; unknown fields are null.
The token is a string, because it may exceed the integers of JavaScript.";

pub(crate) const SETUP: &str = "\
Examples:
  dlock setup mysql://app@db-1/locks           create the tables
  dlock setup mysql://app@db-1/locks --print   print the statements that create them

dlock also creates them on first use, if the account may. For an account that may not, print the
statements and have an administrator run them. Each can be repeated.";

pub(crate) const BENCH: &str = "\
TIME is a number with a unit: 500ms, 30s, 10m. All sides of all stores run in turns, in rounds.

Examples:
  dlock bench                                   the configured store
  dlock bench redis://db-1 file:/var/lock/app   two stores
  dlock bench --local                           the servers that this machine has, started for it
  dlock bench --for 10m --json > new.json       longer, as JSON
  dlock bench --local --report bench.html       a page with figures
  dlock bench redis://db-1 --verify=30s         safety beside speed
  dlock bench --compare old.json new.json --fail-over 5%

Workloads:
  one lock, 64 tasks  acquire and release without contention, each task on a name of its own
  hand-over           from the release in one process to the grant in another one that waits
  one shot            a process that connects, acquires, releases and ends, as in cron
With --all also:
  8 tasks             acquire and release
  steady              64 tasks at half of the store's own peak, by a clock; counted from when due
  8 processes         all want one lock: shares, Jain's index (1 is fair), the longest wait
  after a crash       from the end of a holder of 20 locks to the next grant: killed, cut off
  held                1 to 10,000 locks, as far as the store allows
--all takes minutes longer and loads the servers. It says so on stderr and waits for a yes on the
terminal; without one it needs --yes. The servers of --local need none.

--verify takes a minute more, or the time that it is given: what `dlock verify` finds is shown beside
the speed, and does not change the exit code. --verify-file takes its JSON of an earlier run, and
--from an earlier measurement: together they make one report of both.

Beside dlock run, where the store has it:
  driver      the store's driver alone, without any safety. The ratio is the median of all rounds,
              with the half of its 95 % interval.
  own lock    the lock that the server offers by itself (in JSON)
  limit       what round trips, durable writes and processors allow
  dlock       once more, as the measure of noise. No smaller difference is called one.
On a noisy machine ratios of processor time come first, and rates have a ~.

--compare reads JSON, or a report with it inside. It compares ratios to the driver, since rates of
two runs depend on the machine. A figure whose noise or half interval is larger than --fail-over is
too noisy to judge.

A report is checked before the measurement: a file that cannot be written is wrong usage. A second
Ctrl-C, half a second after the first or later, ends dlock at once.

The locks are named dlock-bench/…. They are released and removed at the end, also after Ctrl-C.

Exit codes:
  0   all went well
  1   --compare: the new run is worse by more than --fail-over
  2   a store was not measured, or not to the end; its row is then partial
      --compare: nothing to compare, or a figure is too noisy for --fail-over
  64  wrong usage or configuration, or a file of another version
  69  no store could be reached
  70  an internal error, or a call to the system failed
  128 + n  signal n ended it";

pub(crate) const VERIFY: &str = "\
TIME is a number with a unit: 500ms, 30s, 10m.

Examples:
  dlock verify redis://db-1                        one server, for a minute
  dlock verify etcd://e-1,e-2,e-3 zk://zoo-1       two stores, side by side
  dlock verify --quick --accept redis.eviction     for a script; a finding that you live with

Steps:
  settings  read only, with the rights of the account, also where dlock refuses to connect
  contract  the clauses K1 to K13, on locks named dlock-verify/…
  faults    worker processes of dlock itself are killed and stopped, and their connections fail

A server gets at most 200 requests a second and 24 connections of dlock for each URL. Its settings,
its data and its other clients are left alone. Only a full server that evicts may remove keys of
others: dlock warns before. All entries of the locks are removed at the end, also after Ctrl-C.
dlock's own permanent entries stay, as the README of the store names them. A second Ctrl-C ends
dlock at once; its locks then expire.

A server that is new to dlock grants nothing until its guard has ended (Redis: 30 s by default).
That comes on top of --for and --quick.

dlock also reads the replicas and members that the URL does not name, with the login of the URL.

Marks:
  ✓ holds, or covered by a setting of dlock     ▲ warning: an exception of the contract may happen
  ✕ fails, or danger                            ? unknown: no answer, or no right to read it
  – not tried: no time for it

Exit codes:
  0   all clauses that were tried hold, and each danger is accepted; warnings do not count
  1   a clause fails, a danger is not accepted, or an entry could not be removed
  2   a clause or a setting is unknown, K1 was not tried, or one of several stores could not be
      reached
  64  wrong usage or configuration, or the store refused this user
  69  no store could be reached
  70  an internal error, or a call to the system failed
  128 + n  signal n ended dlock

A late reply, a store that cannot be reached and a machine whose own timers are more than 200 ms late
make a clause unknown. --quick and --for shorter than 35s leave the faults out. A clause that there
is no time for does not count.

A clause that fails cannot be accepted. With 0 failures in n grants, fewer than one in n/3 fails, at
a confidence of 95 %.

JSON: format (dlock-verify/1), dlock, seed, stores. Each store has url, server, error, seconds,
first_lock_seconds, grants, faults, clauses, findings, not_here, assumptions, limits and residue.
Without a store that could be reached it is printed, too.";

pub(crate) const MIGRATE: &str = "\
Examples:
  dlock migrate plan redis://db-1 etcd://etcd-1      print all steps, with token_base= and the URLs
  dlock migrate start env:OLD_URL env:NEW_URL        URLs with passwords, from variables
  dlock migrate status redis://db-1 'etcd://etcd-1?token_base=9007199254740992'

Every lock is taken in both stores for a while. A record in each store says how far the move is, so
that a program with a URL that is not right any more is refused when it connects. One with OLD that
was connected before loses its locks at the switch, which waits 31 s for that.

`start` refuses a NEW whose locks are in use. `status` works while one store is down.

Each step can be repeated, also after it was cut off. A move concerns all locks with the prefix of
each store.

Exit codes:
  0   done
  64  wrong usage or configuration, a step out of order, or a store refused this user
  69  a store could not be reached; status: neither could
  70  an internal error, or a call to the system failed
  75  check: another one has its lock

JSON: format (dlock-migrate/1), old, new, next and next_text. A store is null, or has stage, id,
since, by and other. The stages of the old store are leaving, closed and left, those of the new one
arriving and arrived; either may be cancelled. For a store that is down there is old_error or
new_error. The next step is plan, start, switch, cancel, programs-to-both (their URL becomes
migrate:), programs-to-new, swap (of OLD and NEW), status (later) or none (no pair). `plan` has
format, old, both and new: the URLs, without passwords.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  dlock completions bash > ~/.local/share/bash-completion/completions/dlock
  dlock completions zsh > ~/.zfunc/_dlock
  dlock completions fish > ~/.config/fish/completions/dlock.fish";

pub(crate) const MAN: &str = "\
Examples:
  mkdir -p ~/.local/share/man/man1
  dlock man ~/.local/share/man/man1
  man dlock-run";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Args;

    #[test]
    fn a_paragraph_is_one_line_and_a_list_stays() {
        let text = "one\ntwo\n\nList:\n  a   b\n      c\nthree\nfour";
        let expected = "one two\n\nList:\n  a   b\n      c\nthree four";
        assert_eq!(flowing(text), expected);
    }

    /// A line that is broken twice leaves a word or two on a line of its own.
    #[test]
    fn prose_fills_the_lines_of_a_narrow_terminal() {
        const WIDTH: usize = 80;
        for name in [
            "run",
            "inspect",
            "setup",
            "bench",
            "verify",
            "migrate",
            "completions",
            "man",
        ] {
            let command = Args::command().term_width(WIDTH);
            let help = command.try_get_matches_from(["dlock", name, "--help"]);
            let help = help.expect_err("the help").render().to_string();
            let lines: Vec<&str> = help.lines().collect();
            for pair in lines.windows(2) {
                let [line, next] = pair else { continue };
                let is_prose = |line: &str| line.starts_with(|first: char| first.is_alphanumeric());
                let word = next.split(' ').next().unwrap_or_default();
                let fits = line.chars().count() + 1 + word.chars().count() <= WIDTH;
                let is_broken = is_prose(line) && is_prose(next) && fits && !line.ends_with(':');
                assert!(!is_broken, "{name}: {line:?} {next:?}");
            }
        }
    }
}
