//! The login at a store.

use crate::{
    base::error::Result,
    config::{check::invalid, secret::Secret, settings::Settings},
};

/// A user and a password, each of which may be missing. `Debug` masks the password.
///
/// ```
/// use dlock_core::config::Login;
///
/// let login = Login::new("app", "hunter2");
/// login.check_pair()?;
/// assert!(!format!("{login:?}").contains("hunter2"));
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    user: Option<String>,
    password: Option<Secret>,
}

impl Login {
    /// Makes a login with a user and a password.
    pub fn new(user: impl Into<String>, password: impl Into<Secret>) -> Self {
        Self {
            user: Some(user.into()),
            password: Some(password.into()),
        }
    }

    /// Makes a login of what is there.
    #[must_use]
    pub fn from_parts(user: Option<String>, password: Option<Secret>) -> Self {
        Self { user, password }
    }

    /// Takes the login of a URL.
    #[must_use]
    pub fn take(settings: &mut Settings) -> Self {
        Self::from_parts(settings.take_user(), settings.take_password())
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password.
    #[must_use]
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// The user and the password, if both are there.
    #[must_use]
    pub fn pair(&self) -> Option<(&str, &Secret)> {
        self.user().zip(self.password())
    }

    /// Checks that an empty password is not given: it is most likely a variable that was not set.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for an empty user or password.
    pub fn check(&self) -> Result<()> {
        if self.user().is_some_and(str::is_empty) {
            return Err(invalid("the user is empty; leave the login out".to_owned()));
        }
        if self
            .password()
            .is_some_and(|password| password.expose().is_empty())
        {
            return Err(invalid("the password is empty; leave it out".to_owned()));
        }
        Ok(())
    }

    /// As [`check`](Self::check), and that a user has a password; a password may be alone.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and for a user without a password.
    pub fn check_user(&self) -> Result<()> {
        if let (Some(user), None) = (self.user(), self.password()) {
            let why = format!("the user {user:?} has no password; add it, or leave the user out");
            return Err(invalid(why));
        }
        self.check()
    }

    /// As [`check`](Self::check), and that both are there or neither.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and if only one of them is given.
    pub fn check_pair(&self) -> Result<()> {
        if self.user.is_some() != self.password.is_some() {
            return Err(invalid(
                "a login is a user and a password, one is missing".to_owned(),
            ));
        }
        self.check()
    }
}
