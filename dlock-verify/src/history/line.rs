//! Reads one line of a history.
//!
//! The frequent events have a parser of their own: without copies of their texts it takes a quarter of the time.

use serde::Deserialize;

use super::{
    event::{Event, EventKind, RegisterKind},
    name::Names,
    outcome::{RefusalEffect, RefusalKind},
};

/// The fields of all frequent events.
#[derive(Deserialize)]
struct Frequent<'a> {
    at: u64,
    client: u32,
    event: &'a str,
    op: Option<u64>,
    name: Option<&'a str>,
    shared: Option<bool>,
    waits: Option<bool>,
    token: Option<u64>,
    until: Option<u64>,
    kind: Option<RefusalKind>,
    effect: Option<RefusalEffect>,
    register: Option<RegisterKind>,
    value: Option<u64>,
    accepted: Option<bool>,
}

/// The event of a line; its names are shared with `names`.
pub(super) fn parse(line: &str, names: &mut Names) -> Result<Event, serde_json::Error> {
    let frequent = serde_json::from_str::<Frequent<'_>>(line).ok();
    if let Some(event) = frequent.and_then(|frequent| frequent.event(names)) {
        return Ok(event);
    }
    let mut event: Event = serde_json::from_str(line)?;
    event.intern(names);
    Ok(event)
}

impl Frequent<'_> {
    /// The event, if it is a frequent one and has all fields.
    fn event(&self, names: &mut Names) -> Option<Event> {
        let kind = match self.event {
            "requested" => EventKind::Requested {
                op: self.op?,
                name: names.intern(self.name?),
                shared: self.shared?,
                waits: self.waits?,
            },
            "granted" => EventKind::Granted {
                op: self.op?,
                token: self.token?,
                until: self.until?,
            },
            "refused" => EventKind::Refused {
                op: self.op?,
                kind: self.kind?,
                effect: self.effect?,
            },
            "reported" => EventKind::Reported {
                op: self.op?,
                until: self.until?,
            },
            "releasing" => EventKind::Releasing { op: self.op? },
            "released" => EventKind::Released { op: self.op? },
            "write" => EventKind::Write {
                name: names.intern(self.name?),
                register: self.register?,
                token: self.token?,
                value: self.value?,
                accepted: self.accepted?,
            },
            _ => return None,
        };
        Some(Event::new(self.at, self.client, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{FaultPhase, Name};

    fn kinds() -> Vec<EventKind> {
        let op = 3;
        let name = || Name::from("a \"b\"");
        vec![
            EventKind::Requested {
                op,
                name: "n".into(),
                shared: false,
                waits: true,
            },
            EventKind::Requested {
                op,
                name: name(),
                shared: true,
                waits: false,
            },
            EventKind::Granted {
                op,
                token: 12,
                until: u64::MAX,
            },
            EventKind::Refused {
                op,
                kind: RefusalKind::Unavailable,
                effect: RefusalEffect::Unknown,
            },
            EventKind::OfLocker { op, locker: 2 },
            EventKind::Cancelled { op },
            EventKind::Reported { op, until: 9 },
            EventKind::Watched { op, every: 10 },
            EventKind::Lost { op },
            EventKind::Releasing { op },
            EventKind::Released { op },
            EventKind::Write {
                name: name(),
                register: RegisterKind::Control,
                token: 1,
                value: 2,
                accepted: true,
            },
            EventKind::Killed,
            EventKind::Stopped,
            EventKind::Resumed,
            EventKind::Lagged { by: 5 },
            EventKind::Fault {
                id: 1,
                kind: "cut".into(),
                target: name(),
                phase: FaultPhase::Ended,
            },
            EventKind::Destroyed { name: name() },
            EventKind::Listed {
                entries: Vec::new(),
            },
        ]
    }

    #[test]
    fn each_event_is_read_as_it_was_written() {
        let mut names = Names::default();
        for kind in kinds() {
            let event = Event::new(5, 1, kind);
            let line = serde_json::to_string(&event).expect("json");
            assert_eq!(parse(&line, &mut names).expect("event"), event);
        }
    }

    #[test]
    fn a_line_that_lacks_a_field_is_refused_with_its_name() {
        let line = r#"{"at":5,"client":1,"event":"granted","op":3,"until":9}"#;
        let error = parse(line, &mut Names::default()).expect_err("no token");
        assert!(error.to_string().contains("`token`"), "{error}");
    }
}
