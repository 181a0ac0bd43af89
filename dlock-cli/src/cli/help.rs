//! The texts below the options in `--help`.

pub(crate) const EXAMPLES: &str = "\
Examples:
  dlock run nightly-report --try -- ./report.sh     skip it if another one is running
  dlock run deploy --wait 10m -- make deploy        wait for up to ten minutes
  dlock run counter -- sh -c 'echo $DLOCK_TOKEN'    print a number that grows with each run
  dlock inspect deploy                              show the holder

`dlock COMMAND --help` has the options, examples and exit codes of a command. All users of a machine
can see arguments: put a URL with a password into DLOCK_URL or a file.";

pub(crate) const RUN: &str = "\
TIME is a number with a unit: 500ms, 30s, 10m, 1h 30m.

Examples:
  dlock run nightly-report --try -- ./report.sh     skip it if another one is running
  dlock run deploy --wait 10m -- make deploy        wait for up to ten minutes
  dlock run backup --ttl 2m --grace 20s -- ./b.sh   20 seconds to stop if renewals fail

Environment of the command:
  DLOCK_NAME   the name of the lock
  DLOCK_TOKEN  the fencing token: a number that grows with each grant. A resource that refuses
               smaller numbers than its largest one is safe from late writes.

Exit codes: the code of the command, 128 + n if signal n ended it, or one of these:
  64   wrong usage or configuration, or the store refused this user
  69   the store could not be reached
  70   an internal error, or a call to the system failed
  75   the lock was not acquired in time
  76   the lock was lost or about to expire while the command ran
  126  the command cannot be executed
  127  the command is not found
  128 + n  signal n ended dlock while it waited for the lock

Signals: dlock passes them on to the command.
  * Without a terminal (cron, CI, a service) the command has its own process group. Signals go to
    the whole group, and so does the KILL after a loss.
  * With a terminal the command is in dlock's group. Ctrl-Z stops both, and a lock with a ttl is
    then lost. The KILL reaches the command but not its children. To reach them too, use
    `setsid --wait dlock run …`.

End: dlock releases the lock when the command ends, even if children of the command go on.
  * If dlock is killed (SIGKILL), the system kills the command, but not its children, and not a
    set-user-ID program such as sudo.
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
TIME is a number with a unit: 500ms, 30s, 10m.

Examples:
  dlock bench                                   the configured store
  dlock bench file:/var/lock/app file:/mnt/ssd  two stores
  dlock bench --for 10s --json                  longer, as JSON

Workloads:
  cycle      acquire and release a lock without contention, by 1 task and by 64
  hand-over  from the release in one process to the grant in another one that waits

Each is compared with, where the store has it:
  floor       the store's driver alone, without any safety, in turns with dlock. The ratio is
              dlock's rate divided by the floor's: the median of all rounds, and in parentheses the
              middle half of the rounds. If that range is wide, the machine was not idle, and the
              ratio is not reliable.
  own lock    the lock that the server offers by itself
  round trip  to the server and back, or a durable write if each change of a lock is one, with a
              pause before each. The ratio is the number of round trips in a hand-over.
Server CPU is the processor time of the server for one cycle.

Compare figures of one run only: a busy machine makes all of them worse. The locks are named
dlock-bench…, and all of them are released at the end.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  dlock completions bash > ~/.local/share/bash-completion/completions/dlock
  dlock completions zsh > ~/.zfunc/_dlock
  dlock completions fish > ~/.config/fish/completions/dlock.fish";
