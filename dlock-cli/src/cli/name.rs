//! The name of a lock on the command line.

use std::ffi::OsStr;

use dlock::LockName;

use crate::base::exit::Failure;

/// Checks `name`, so that a wrong one is refused before anything is connected.
pub(crate) fn parse(name: &OsStr) -> Result<LockName, Failure> {
    let text = name
        .to_str()
        .ok_or_else(|| Failure::usage(format!("the lock name {name:?} is not UTF-8")))?;
    Ok(LockName::new(text)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;
    use crate::base::exit::Exit;

    #[test]
    fn a_name_that_is_not_utf_8_is_refused() {
        let failure = parse(OsStr::from_bytes(b"a\xff")).expect_err("not UTF-8");
        assert_eq!(failure.exit, Exit::USAGE);
        assert_eq!(failure.message, r#"the lock name "a\xFF" is not UTF-8"#);
    }

    #[test]
    fn an_empty_name_is_refused() {
        let failure = parse(OsStr::new("")).expect_err("empty");
        assert_eq!(failure.exit, Exit::USAGE);
        assert_eq!(
            failure.message,
            "the lock name is empty (allowed: 1 to 255 bytes)"
        );
    }
}
