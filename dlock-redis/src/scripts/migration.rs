//! `migration.lua`: reads the record of a migration, or changes it.

use std::sync::LazyLock;

use redis::Cmd;

use crate::scripts::script::{Form, Script};

static MIGRATION: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("migration.lua")));

/// Reads the record of a migration, or changes it.
#[derive(Clone, Copy)]
pub(crate) struct MigrationCall<'a> {
    /// The key of the record.
    pub(crate) key: &'a str,
    /// The change; without one the record is read.
    pub(crate) change: Option<MigrationChange<'a>>,
}

/// A change of the record.
#[derive(Clone, Copy)]
pub(crate) struct MigrationChange<'a> {
    /// The record that must be there before, if any.
    pub(crate) expected: Option<&'a str>,
    pub(crate) next: &'a str,
}

impl MigrationCall<'_> {
    pub(super) fn render(&self, form: Form) -> Cmd {
        let mut command = MIGRATION.command(form, 1, 0, 0);
        command.arg(self.key);
        if let Some(MigrationChange { expected, next }) = self.change {
            command.arg(next).arg(expected);
        }
        command
    }
}
