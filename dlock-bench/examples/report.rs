//! Writes the report of a run: `report RUN.json OUT.html [VERDICTS.json]`.

use std::{env, error::Error, fs};

use dlock_bench::{data::Run, report};
use dlock_verify::verdict::Document;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [run, out, verdicts @ ..] = arguments.as_slice() else {
        return Err("usage: report RUN.json OUT.html [VERDICTS.json]".into());
    };
    let run = Run::parse(&fs::read_to_string(run)?)?;
    let verdicts = verdicts.first().map(fs::read_to_string).transpose()?;
    let verdicts = verdicts.as_deref().map(Document::from_json).transpose()?;
    fs::write(out, report::html(&run, verdicts.as_ref())?)?;
    Ok(())
}
