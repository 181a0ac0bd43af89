//! The lines that a client's process reads and writes, as the README has them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A line to a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Request {
    Version,
    Cycles {
        tasks: usize,
        window: Duration,
    },
    /// Cycles with a new name each.
    Once {
        tasks: usize,
        window: Duration,
    },
    /// Cycles over a connection for each task.
    Apart {
        tasks: usize,
        window: Duration,
    },
    HandOver {
        window: Duration,
    },
    Contend {
        clients: usize,
        window: Duration,
    },
    /// Contention by locks that are held.
    Herd {
        clients: usize,
        hold: Duration,
        window: Duration,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) version: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Cycles {
    pub(crate) cycles: u64,
    pub(crate) seconds: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HandOvers {
    pub(crate) hand_overs_ms: Vec<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Contended {
    /// Of each client.
    pub(crate) grants: Vec<u64>,
    /// Grants to another client than the holder before.
    pub(crate) moved: u64,
    pub(crate) longest_wait_ms: f64,
    pub(crate) seconds: f64,
    /// All grants, also those after the end.
    #[serde(default)]
    pub(crate) granted: u64,
}

impl Request {
    pub(crate) fn line(self) -> String {
        match self {
            Self::Version => "version".to_owned(),
            Self::Cycles { tasks, window } => format!("cycles {tasks} {}", window.as_secs_f64()),
            Self::Once { tasks, window } => format!("once {tasks} {}", window.as_secs_f64()),
            Self::Apart { tasks, window } => format!("apart {tasks} {}", window.as_secs_f64()),
            Self::HandOver { window } => format!("handover {}", window.as_secs_f64()),
            Self::Contend { clients, window } => {
                format!("contend {clients} {}", window.as_secs_f64())
            }
            Self::Herd {
                clients,
                hold,
                window,
            } => format!(
                "herd {clients} {} {}",
                hold.as_secs_f64(),
                window.as_secs_f64()
            ),
        }
    }
}

/// Reads a line that [`Request::line`] made.
pub(crate) fn parse(line: &str) -> Result<Request, Failure> {
    let words: Vec<_> = line.split(' ').collect();
    let window = |text: &str| Ok::<_, Failure>(Duration::try_from_secs_f64(text.parse()?)?);
    Ok(match words[..] {
        ["version"] => Request::Version,
        ["cycles", tasks, seconds] => Request::Cycles {
            tasks: tasks.parse()?,
            window: window(seconds)?,
        },
        ["once", tasks, seconds] => Request::Once {
            tasks: tasks.parse()?,
            window: window(seconds)?,
        },
        ["apart", tasks, seconds] => Request::Apart {
            tasks: tasks.parse()?,
            window: window(seconds)?,
        },
        ["handover", seconds] => Request::HandOver {
            window: window(seconds)?,
        },
        ["contend", clients, seconds] => Request::Contend {
            clients: clients.parse()?,
            window: window(seconds)?,
        },
        ["herd", clients, hold, seconds] => Request::Herd {
            clients: clients.parse()?,
            hold: window(hold)?,
            window: window(seconds)?,
        },
        _ => return Err(format!("there is no request {line}").into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let window = Duration::from_millis(1_500);
        for request in [
            Request::Version,
            Request::Cycles { tasks: 64, window },
            Request::Once { tasks: 64, window },
            Request::Apart { tasks: 64, window },
            Request::HandOver { window },
            Request::Contend {
                clients: 16,
                window,
            },
            Request::Herd {
                clients: 200,
                hold: window / 300,
                window,
            },
        ] {
            assert_eq!(parse(&request.line()).unwrap(), request);
        }
        assert!(parse("cycles 1").is_err() && parse("handover -1").is_err());
    }
}
