//! Other clients of the stores, which share locks with dlock: each in a process of its own.
//!
//! The programs are in `dlock-servers/clients`, where a README has the lines that they read and write.

use std::{
    env,
    ffi::OsString,
    fmt::Display,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{parent, program::in_target};

/// The programs, below the root of the workspace.
const SOURCES: &str = "dlock-servers/clients";

/// The bound on an answer: a client may wait for the end of a dead holder's lock.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A client of another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Client {
    /// The `Lock` of redis-py.
    RedisPy,
    /// node-redlock.
    NodeRedlock,
    /// Redsync, for Go.
    Redsync,
    /// The `RLock` of Redisson, for Java.
    Redisson,
    /// The `Lock` of kazoo, for Python.
    Kazoo,
    /// The `Lock` of python-etcd3.
    PythonEtcd3,
    /// The mutex of etcd's own package `concurrency`, for Go.
    Concurrency,
}

impl Client {
    /// The name in the names of tests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RedisPy => "redis-py",
            Self::NodeRedlock => "node-redlock",
            Self::Redsync => "redsync",
            Self::Redisson => "redisson",
            Self::Kazoo => "kazoo",
            Self::PythonEtcd3 => "python-etcd3",
            Self::Concurrency => "concurrency",
        }
    }

    /// The words of its command line, without arguments.
    ///
    /// # Errors
    ///
    /// Why it cannot be run here, in a line.
    pub fn find(self) -> Result<Vec<OsString>, String> {
        match self {
            Self::RedisPy => python("redis_py.py"),
            Self::Kazoo => python("kazoo_lock.py"),
            Self::PythonEtcd3 => python("python_etcd3.py"),
            Self::NodeRedlock => {
                let modules = installed("node/node_modules")?;
                let mut path = OsString::from("NODE_PATH=");
                path.push(modules);
                let program = source("node_redlock.cjs")?;
                let words = ["env".into(), path, "node".into(), program.into()];
                Ok(words.into())
            }
            Self::Redisson => {
                let mut class_path = OsString::from(installed("java/redisson/lib")?);
                class_path.push("/*");
                let program = source("RedissonLocks.java")?;
                // Flags for a process that lives for seconds.
                let words = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"];
                let words = words.into_iter().map(OsString::from);
                Ok(words.chain([class_path, program.into()]).collect())
            }
            Self::Redsync | Self::Concurrency => {
                Ok(vec![installed("go/clients")?.into(), self.name().into()])
            }
        }
    }

    /// Starts it at the server `address`, with further arguments. `ttl` is in whole seconds.
    ///
    /// # Errors
    ///
    /// When it is not there or cannot reach the server.
    pub async fn start(
        self,
        address: impl Display,
        ttl: Duration,
        arguments: &[&str],
    ) -> io::Result<Peer> {
        let words = self.find().map_err(io::Error::other)?;
        let arguments = arguments.iter().map(Into::into);
        let given = [address.to_string().into(), ttl.as_secs().to_string().into()];
        Peer::start(words.into_iter().chain(given).chain(arguments)).await
    }
}

/// A process with another client. It ends when it is dropped, without a release.
#[derive(Debug)]
pub struct Peer {
    process: Child,
    says: ChildStdin,
    hears: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts the program of these words, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// When it cannot be started, or says something else.
    pub async fn start(words: impl IntoIterator<Item = OsString>) -> io::Result<Self> {
        let mut command = Command::from(parent::command(words));
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let no_pipe = || io::Error::other("a client without pipes");
        let says = process.stdin.take().ok_or_else(no_pipe)?;
        let hears = process.stdout.take().ok_or_else(no_pipe)?;
        let hears = BufReader::new(hears).lines();
        let mut peer = Self {
            process,
            says,
            hears,
        };
        peer.expect("ready").await?;
        Ok(peer)
    }

    /// Sends a line.
    ///
    /// # Errors
    ///
    /// When the process has ended.
    pub async fn say(&mut self, line: &str) -> io::Result<()> {
        self.says.write_all(format!("{line}\n").as_bytes()).await
    }

    /// Waits for an answer of any kind.
    ///
    /// # Errors
    ///
    /// When none comes within 30 s, or the process has ended.
    pub async fn hear(&mut self) -> io::Result<String> {
        let heard = timeout(ANSWER_MAX, self.hears.next_line()).await;
        let heard = heard.map_err(|_| io::Error::other("no answer"))??;
        heard.ok_or_else(|| io::Error::other("it has ended"))
    }

    /// Waits for an answer.
    ///
    /// # Errors
    ///
    /// When it is another one, or comes too late.
    pub async fn expect(&mut self, answer: &str) -> io::Result<()> {
        let wanted = |heard| io::Error::other(format!("{heard}; wanted: {answer}"));
        let heard = self.hear().await.map_err(|why| wanted(why.to_string()))?;
        match heard == answer {
            true => Ok(()),
            false => Err(wanted(heard)),
        }
    }

    /// Sends a line and waits for its answer.
    ///
    /// # Errors
    ///
    /// As [`say`](Self::say) and [`expect`](Self::expect).
    pub async fn request(&mut self, line: &str, answer: &str) -> io::Result<()> {
        self.say(line).await?;
        self.expect(answer).await
    }

    /// The process id, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// Kills the process, and waits for its end.
    ///
    /// # Errors
    ///
    /// When it cannot be killed.
    pub async fn kill(mut self) -> io::Result<()> {
        self.process.kill().await
    }
}

/// Python with a program. `-B`: it leaves no compiled module beside the sources.
fn python(program: &str) -> Result<Vec<OsString>, String> {
    let python = installed("python/bin/python")?;
    Ok(vec![python.into(), "-B".into(), source(program)?.into()])
}

/// A file that `cargo xtask setup` has installed, below `target/clients`.
///
/// # Errors
///
/// What is missing, in a line.
pub fn installed(path: &str) -> Result<PathBuf, String> {
    in_target(&Path::new("clients").join(path))
}

/// A program of this crate, found from the current directory, as cargo starts tests.
fn source(name: &str) -> Result<PathBuf, String> {
    let directory = env::current_dir().unwrap_or_default();
    let mut files = directory
        .ancestors()
        .map(|root| root.join(SOURCES).join(name));
    let file = files.find(|file| file.is_file());
    file.ok_or_else(|| format!("{name} is not there: this is no checkout"))
}
