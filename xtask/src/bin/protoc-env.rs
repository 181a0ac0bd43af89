//! Prints where the compiler for etcd's protocol files is, as lines for cargo's `[env]`.

use std::{
    io::{self, Write as _},
    path::Path,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout();
    for (key, path) in [
        ("PROTOC", protoc_bin_vendored::protoc_bin_path()?),
        ("PROTOC_INCLUDE", protoc_bin_vendored::include_path()?),
    ] {
        // The environment of the caller has the values of an older file.
        writeln!(
            out,
            "{key} = {{ value = {}, force = true }}",
            literal(&path)?
        )?;
    }
    Ok(())
}

/// The path as a string of TOML that has no escapes.
fn literal(path: &Path) -> Result<String, String> {
    match path.to_str() {
        Some(text) if !text.contains(['\'', '\n']) => Ok(format!("'{text}'")),
        _ => Err(format!("cannot write the path {} down", path.display())),
    }
}
