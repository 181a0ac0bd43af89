//! The login at a store.

use super::password::Password;
use crate::{
    base::error::Result,
    config::{check::invalid, secret::Secret, settings::Settings},
};

/// A user and a password, each of which may be missing. `Debug` masks the password.
///
/// In a URL they are before the host, or the keys `user`, `password_file` and `password_env`.
///
/// ```
/// use dlock_core::config::Login;
///
/// let login = Login::new("app", "hunter2");
/// login.check_pair()?;
/// assert!(!format!("{login:?}").contains("hunter2"));
/// assert_eq!(login.read()?.password().unwrap().expose(), "hunter2");
/// # Ok::<(), dlock_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    user: Option<String>,
    password: Option<Password>,
}

/// A login whose password was read, for one connection. `Debug` masks the password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    user: Option<String>,
    password: Option<Secret>,
}

/// The keys of a second login of a store, such as that of Redis's Sentinels.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a backend writes it as a literal; each login has these four"
)]
pub struct LoginKeys {
    /// The key of the user.
    pub user: &'static str,
    /// The key of the password itself.
    pub password: &'static str,
    /// The key of the password's file.
    pub password_file: &'static str,
    /// The key of the password's environment variable.
    pub password_env: &'static str,
}

impl Login {
    /// Makes a login with a user and a password.
    pub fn new(user: impl Into<String>, password: impl Into<Password>) -> Self {
        Self {
            user: Some(user.into()),
            password: Some(password.into()),
        }
    }

    /// Makes a login of what is there.
    #[must_use]
    pub fn from_parts(user: Option<String>, password: Option<Password>) -> Self {
        Self { user, password }
    }

    /// Takes the login of a URL: before its host, or by the keys `user`, `password_file` and `password_env`.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a user or a password that is given in two ways, and for a wrong name of a variable.
    pub fn take(settings: &mut Settings) -> Result<Self> {
        let in_url = settings.take_user();
        let user = match (in_url, settings.take_str("user")?) {
            (Some(_), Some(_)) => {
                return Err(settings.invalid("the user is given twice: in the URL and by user="));
            }
            (in_url, key) => in_url.or(key),
        };
        let password = settings.take_password();
        let places = ["the URL's own", "password_file", "password_env"];
        Self::beside(settings, user, password, places)
    }

    /// Takes a second login of a URL, by its `keys`.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    pub fn take_keys(settings: &mut Settings, keys: LoginKeys) -> Result<Self> {
        let user = settings.take_str(keys.user)?;
        let password = settings.take_secret(keys.password)?;
        let places = [keys.password, keys.password_file, keys.password_env];
        Self::beside(settings, user, password, places)
    }

    /// The login with this user, and with this password or that of a key. The places of a password are this one, and
    /// the keys of a file and of a variable.
    fn beside(
        settings: &mut Settings,
        user: Option<String>,
        password: Option<Secret>,
        [this, file, env]: [&'static str; 3],
    ) -> Result<Self> {
        let given = [
            password.map(Password::from),
            settings.take_str(file)?.map(Password::file),
            settings.take_str(env)?.map(Password::env),
        ];
        let mut given = given.into_iter().flatten();
        let password = given.next();
        if given.next().is_some() {
            return Err(settings.invalid(format!(
                "the password is given twice; allowed is one of {this}, {file} and {env}"
            )));
        }
        if let Some(password) = &password {
            password.check().map_err(|error| settings.invalid(error))?;
        }
        Ok(Self { user, password })
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Whether there are a user and a password.
    #[must_use]
    pub fn is_pair(&self) -> bool {
        self.user.is_some() && self.password.is_some()
    }

    /// Reads the password, for a connection that is made now. Blocks while it reads a file.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for a file that cannot be read or has no password, and for a variable that is not set. The
    /// message names the place, and has no part of the password.
    pub fn read(&self) -> Result<Credentials> {
        let password = self.password.as_ref().map(Password::read).transpose()?;
        Ok(Credentials {
            user: self.user.clone(),
            password,
        })
    }

    /// Checks that an empty password is not given: it is most likely a variable that was not set. Does no I/O.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for an empty user or password.
    pub fn check(&self) -> Result<()> {
        if self.user().is_some_and(str::is_empty) {
            return Err(invalid("the user is empty; leave the login out".to_owned()));
        }
        self.password.as_ref().map_or(Ok(()), Password::check)
    }

    /// As [`check`](Self::check), and that a user has a password; a password may be alone.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and for a user without a password.
    pub fn check_user(&self) -> Result<()> {
        if let (Some(user), None) = (self.user(), &self.password) {
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

impl Credentials {
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
}
