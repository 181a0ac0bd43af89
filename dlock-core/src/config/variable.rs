//! The names of environment variables in settings.

/// Whether `name` can be the name of an environment variable: letters, digits and `_`, and no digit first.
pub(super) fn is_variable(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(allowed) && !name.starts_with(|c: char| c.is_ascii_digit())
}
