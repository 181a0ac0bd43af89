//! Writes the report of a run: `report RUN.json OUT.html [VERDICTS.json]`.

use std::{env, error::Error, fs};

use dlock_bench::{data::Run, report};
use dlock_verify::verdict::Document;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [run, out, verdicts @ ..] = arguments.as_slice() else {
        return Err("usage: report RUN.json OUT.html [VERDICTS.json]".into());
    };
    let mut run = Run::parse(&fs::read_to_string(run)?)?;
    if let Some(file) = verdicts.first() {
        run.verdicts = Some(Document::from_json(&fs::read_to_string(file)?)?);
    }
    fs::write(out, report::html(&run)?)?;
    Ok(())
}
