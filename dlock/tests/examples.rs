//! Every example runs to its end. cargo builds them for a test of the whole package.

use std::{collections::BTreeSet, env, ffi::OsStr, fs, path::Path, process::Command};

#[test]
fn every_example_runs() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = fs::read_dir(sources).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let names: BTreeSet<_> = paths
        .filter_map(|path| Some(path.file_stem()?.to_owned()))
        .collect();
    assert!(names.contains(OsStr::new("quickstart")), "{names:?}");
    // They are built beside the folder of this test.
    let test = env::current_exe().expect("a path");
    let programs = test.ancestors().nth(2).expect("a folder").join("examples");
    for name in names {
        let run = Command::new(programs.join(&name)).output();
        let output =
            run.unwrap_or_else(|error| panic!("{name:?} (cargo build --examples): {error}"));
        assert!(output.status.success(), "{name:?}: {output:?}");
        assert!(!output.stdout.is_empty(), "{name:?} says nothing");
    }
}
