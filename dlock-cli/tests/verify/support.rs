//! Running `dlock verify`, and reading its verdict.

use std::{
    process::{Output, Stdio},
    time::Duration,
};

use dlock_verify::{
    ensure,
    support::{self, Outcome},
    verdict::{Document, Finding, Severity, StoreVerdict, Verdict},
};
use libtest_mimic::Trial;
use tokio::process::{Child, Command};

/// The bound of a case: a minute for the program, and the start of its servers.
const CASE_MAX: Duration = Duration::from_secs(170);

/// The case `name`, run by `case`.
pub(crate) fn trial<F>(name: &str, case: impl FnOnce() -> F + Send + 'static) -> Trial
where
    F: Future<Output = Outcome>,
{
    Trial::test(name, move || support::run(CASE_MAX, case()))
}

/// `dlock verify ARGS…`, which finds no configuration of the user.
pub(crate) fn verify(args: &[&str]) -> Outcome<Child> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlock"));
    command
        .arg("verify")
        .args(args)
        .env_remove("DLOCK_URL")
        .env_remove("DLOCK_CONFIG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    Ok(command.spawn()?)
}

/// The end of `dlock verify`.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Outcome<Self> {
        Ok(Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// The document, which is the only output.
    pub(crate) fn document(&self) -> Outcome<Document> {
        let document = Document::from_json(&self.stdout);
        Ok(document.map_err(|error| format!("{error}: {self:?}"))?)
    }

    /// The verdict about the only store.
    pub(crate) fn store(&self) -> Outcome<StoreVerdict> {
        let mut stores = self.document()?.stores;
        ensure!(stores.len() == 1, "{} stores", stores.len());
        Ok(stores.remove(0))
    }
}

/// The arguments of a verification of `url` as JSON. The findings `accepted` are of its account.
pub(crate) fn arguments<'a>(url: &'a str, accepted: &[&'a str]) -> Vec<&'a str> {
    let accepted = accepted.iter().flat_map(|id| ["--accept", id]);
    [url, "--json"].into_iter().chain(accepted).collect()
}

/// The words of a case that has no answer because of the machine, and not of the store.
const TOO_SLOW: [&str; 2] = ["this machine was too slow", "the machine was too slow"];

/// The exit code of a store whose clauses have these verdicts, and no others.
///
/// On a machine that was too slow for a clause, it must be that which the program says.
fn code(store: &StoreVerdict, allowed: &[Verdict]) -> Outcome<i32> {
    let mut code = 0;
    for clause in &store.clauses {
        let open = clause.cases.iter();
        let mut open = open.filter(|case| case.verdict == Verdict::Unknown);
        let is_slow = |why: &str| TOO_SLOW.iter().any(|words| why.contains(words));
        if clause.verdict == Verdict::Unknown && open.all(|case| is_slow(&case.why)) {
            code = 2;
        } else {
            let is_allowed = allowed.contains(&clause.verdict);
            ensure!(is_allowed, "{clause:#?} of {store:#?}");
        }
    }
    Ok(code)
}

/// Fails unless the exit code says that all is well, all clauses hold, and nothing is left of the locks.
pub(crate) fn held(ran: &Ran) -> Outcome<StoreVerdict> {
    let store = ran.store()?;
    ensure!(ran.code == code(&store, &[Verdict::Holds])?, "{ran:#?}");
    ensure!(store.residue.left.is_empty(), "{:#?}", store.residue);
    ensure!(store.strikes() > 0, "no fault was injected: {store:#?}");
    let grants = store.faults.iter().map(|fault| fault.grants);
    ensure!(grants.sum::<u64>() > 0, "{:#?}", store.faults);
    let broken = store.faults.iter().map(|fault| fault.violations);
    ensure!(broken.sum::<u64>() == 0, "{:#?}", store.faults);
    Ok(store)
}

/// Fails unless a whole verification of `url` finds that all [holds](held).
pub(crate) async fn holds(url: &str, accepted: &[&str]) -> Outcome<StoreVerdict> {
    held(&ran(&arguments(url, accepted)).await?)
}

/// Fails unless a quick verification of `url` ends well: no clause fails or has no answer, and K1 was tried.
pub(crate) async fn quick_holds(url: &str, accepted: &[&str]) -> Outcome<StoreVerdict> {
    let mut args = arguments(url, accepted);
    args.push("--quick");
    let ran = ran(&args).await?;
    let store = ran.store()?;
    let allowed = [Verdict::Holds, Verdict::NotTried];
    ensure!(ran.code == code(&store, &allowed)?, "{ran:#?}");
    let exclusion = &store.clauses[0];
    ensure!(
        exclusion.verdict != Verdict::NotTried,
        "{:#?}",
        store.clauses
    );
    ensure!(store.faults.is_empty(), "{:#?}", store.faults);
    Ok(store)
}

/// The settings of `url` only: a verification that is too short for more.
pub(crate) async fn settings(url: &str) -> Outcome<(i32, StoreVerdict)> {
    let ran = ran(&[url, "--for", "2s", "--no-faults", "--json"]).await?;
    Ok((ran.code, ran.store()?))
}

/// Runs `dlock verify ARGS…` to its end.
pub(crate) async fn ran(args: &[&str]) -> Outcome<Ran> {
    Ran::of(verify(args)?.wait_with_output().await?)
}

/// Fails unless the store has a finding `id` of this severity.
pub(crate) fn expect<'a>(
    store: &'a StoreVerdict,
    id: &str,
    severity: Severity,
) -> Outcome<&'a Finding> {
    let found = store.findings.iter().find(|finding| finding.id == id);
    let found = found.ok_or_else(|| format!("no finding {id} in {:#?}", store.findings))?;
    ensure!(found.severity == severity, "{found:#?}");
    Ok(found)
}
