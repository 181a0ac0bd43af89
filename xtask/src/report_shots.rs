//! `cargo xtask report-shots`: pictures of the report of `dlock bench`, for eyes.

use std::{fs, path::Path};

use crate::{
    command::Tool,
    failure::{Failure, Result},
    step::{say, step},
};

/// Where the pictures are written.
const FOLDER: &str = "target/report";
/// The run and the verdicts of the tests.
const RUN: &str = "dlock-bench/tests/data/sample.json";
const VERDICTS: &str = "dlock-bench/tests/report/verdicts.json";

const BROWSER: &str = "chromium";
/// Without a window, and as root.
const QUIETLY: [&str; 4] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
];

/// A browser's window has a least width, so a phone is a frame in a page. The height is that of a report of five stores.
const PHONE: &str = r#"<!DOCTYPE html><body style="margin:0"><iframe src="report.html"
 style="width:390px;height:10000px;border:0"></iframe></body>"#;

/// Writes the report of `run` and its pictures; without a run those of the sample.
///
/// # Errors
///
/// Without the browser, for files that are not the data of a run, and when a file cannot be written.
pub(crate) fn run(run: Option<&str>, verdicts: Option<&str>) -> Result<()> {
    if !Tool::new(BROWSER).args(["--version"]).succeeds() {
        return Err(Failure::new(format!(
            "{BROWSER} is missing (Debian: apt-get install {BROWSER})"
        )));
    }
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder).map_err(|error| Failure::new(format!("{FOLDER}: {error}")))?;
    let page = format!("{FOLDER}/report.html");
    step("report", || {
        let sample = run.is_none().then_some(VERDICTS);
        Tool::cargo("run --quiet --package dlock-bench --example report --")
            .args([run.unwrap_or(RUN), &page])
            .args(verdicts.or(sample))
            .run()
    })?;
    fs::write(folder.join("phone.html"), PHONE)
        .map_err(|error| Failure::new(format!("{FOLDER}: {error}")))?;
    let screen = "--window-size=1280,5200";
    shoot(&["--screenshot=wide.png", screen], "report.html")?;
    shoot(
        &[
            "--screenshot=dark.png",
            screen,
            "--blink-settings=preferredColorScheme=0",
        ],
        "report.html",
    )?;
    shoot(
        &["--screenshot=phone.png", "--window-size=500,10000"],
        "phone.html",
    )?;
    shoot(
        &["--print-to-pdf=print.pdf", "--no-pdf-header-footer"],
        "report.html",
    )?;
    say(&format!(
        "pictures are in {FOLDER}: wide, dark, phone (390 wide), print"
    ));
    Ok(())
}

/// One picture; `options` begin with the one that names its file.
fn shoot(options: &[&str], page: &str) -> Result<()> {
    let folder =
        fs::canonicalize(FOLDER).map_err(|error| Failure::new(format!("{FOLDER}: {error}")))?;
    let (what, file) = options[0].split_once('=').unwrap_or((options[0], ""));
    let browser = Tool::new(BROWSER)
        .args(QUIETLY)
        .args([format!("{what}={}", folder.join(file).display())])
        .args(&options[1..])
        .args([format!("file://{}", folder.join(page).display())]);
    let line = browser.by_hand();
    step(file, || {
        if browser.succeeds() {
            return Ok(());
        }
        Err(Failure::new(format!("it did not succeed; by hand: {line}")))
    })
}
