//! The texts below the options in `--help`.

pub(crate) const EXAMPLES: &str = "\
Examples:
  dlock run nightly-report --try -- ./report.sh     skip it if another one is running
  dlock run deploy --wait 10m -- make deploy        wait for up to ten minutes
  dlock run counter -- sh -c 'echo $DLOCK_TOKEN'    a number that grows with each run
  dlock inspect deploy                              who holds it?

A URL may hold a password, and arguments are visible to all users of a machine: then use DLOCK_URL
or a file.";

pub(crate) const RUN: &str = "\
Environment of the command:
  DLOCK_NAME   the name of the lock
  DLOCK_TOKEN  the fencing token, a number that grows with each grant: let the resource remember
               the largest one and refuse smaller ones

Exit codes: the command's own, 128 + n if signal n ended it, and dlock's:
  64   wrong usage or configuration, or the store refuses this user
  69   the store could not be asked
  70   a defect, or the system refused something
  75   the lock was not acquired in time
  76   the lock was lost, or about to be, before the command ended, whatever code that gave
  126  the command cannot be executed
  127  the command is not found
  128 + n  signal n came while dlock waited for the lock

Signals are passed on to the command. Without a terminal (cron, CI, a service) the command has a
process group of its own: they go to all of it, and so does the KILL when the lock is lost. With a
terminal the command shares it with dlock as usual: Ctrl-Z stops both (a lock with a ttl is then
lost), and the KILL reaches the command itself but not what it has started; where that matters, run
`setsid --wait dlock run …`.

The lock is released when the command itself ends, not what it left in the background. If dlock is
killed (SIGKILL), the system kills the command, unless it is set-user-ID such as sudo; its own
children may go on. A stopped dlock (SIGSTOP) can neither renew the lock nor end the command. Where
that matters, check the token.";

pub(crate) const INSPECT: &str = "\
Exit codes:
  0   it is held
  1   it is free
  64  wrong usage or configuration, or the store refuses this user
  69  the store could not be asked
  70  a defect, or the system refused something

The answer is old when it arrives: decide nothing by it, use `dlock run --try` instead.

JSON: name, held, and holder, which is null if the lock is free and else has host, pid, note, token,
attempt, mode, since, remaining_ms, doubt (what is odd about it, for people); what is unknown is null.
The token is a string, as it may exceed what a JavaScript number can hold.";

pub(crate) const SETUP: &str = "\
Examples:
  dlock setup mysql://app@db-1/locks           make the tables
  dlock setup mysql://app@db-1/locks --print   print the statements that make them

A store makes what it needs on first use, if it may. This is for accounts that may not: print the
statements, and have an administrator run them. Each can be repeated.";

pub(crate) const BENCH: &str = "\
Examples:
  dlock bench                                   the configured store
  dlock bench file:/var/lock/app file:/mnt/ssd  two stores, one after the other

Workloads:
  cycle      an acquire and release of a lock that nobody else wants, by 1 task and by 64
  hand-over  from the release in one process to the grant in another one that waits

Below each stands what it is compared with, where the store has that:
  floor       the store's driver alone, without any safety, in turns with dlock; the ratio is
              dlock's rate as a part of the floor's, the median of all rounds, and in parentheses
              what half of the rounds had: where that is wide, the machine was not quiet, or slept
              between two requests, and the ratio says little
  own lock    the lock that the server offers by itself
  round trip  to the server and back, or a durable write where each change of a lock is one, with a
              pause before each; the ratio is how many of them a hand-over takes
Server CPU is what the server's processor spends on one cycle.

Compare the figures of one run only: a busy machine makes all of them worse. The names that it
locks begin with dlock-bench, and nothing is left held.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  dlock completions bash > ~/.local/share/bash-completion/completions/dlock
  dlock completions zsh > ~/.zfunc/_dlock
  dlock completions fish > ~/.config/fish/completions/dlock.fish";
