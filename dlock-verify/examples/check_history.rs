//! Checks a history: `cargo run --release --example check_history -- FILE`, or one that it makes of `GRANTS` grants:
//! `… -- --make GRANTS FILE`. Prints the verdicts, and how long reading and checking took.

use std::{
    env,
    error::Error,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use dlock_core::{Clock, backend::DistributedLock, memory::Memory};
use dlock_verify::{
    checker::{Bounds, Reading, check},
    history::{Event, EventKind, Header, Reader, RegisterKind, Writer},
};

const NAMES: u64 = 12;
const CLIENTS: u64 = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [file] => judge(Path::new(file)),
        [make, grants, file] if make == "--make" => Ok(make_history(grants.parse()?, file.into())?),
        _ => Err("usage: check_history [--make GRANTS] FILE".into()),
    }
}

fn judge(file: &Path) -> Result<(), Box<dyn Error>> {
    let clock = Clock::boottime();
    let began = clock.now();
    let mut reader = Reader::open(file)?;
    let bounds = Bounds::of(reader.header());
    let mut reading = Reading::default();
    for event in &mut reader {
        reading.add(&event?);
    }
    let facts = reading.finish();
    let read = clock.now();
    let report = check(&facts, &bounds);
    let checked = clock.now();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{report}{} grants, {} events",
        report.grants, facts.event_count
    )?;
    writeln!(
        out,
        "read in {:?}, checked in {:?}",
        read.since(began),
        checked.since(read)
    )?;
    Ok(())
}

/// Writes a good history: holders one after the other, each with a refused try beside it.
fn make_history(grants: u64, file: PathBuf) -> io::Result<()> {
    let header = Header::new(1, Duration::from_secs(2), &Memory::new().capabilities());
    let mut writer = Writer::create(&file, &header)?;
    let mut ops = vec![0_u64; 2 * usize::try_from(CLIENTS).unwrap_or(0)];
    for number in 0..grants {
        let name = format!("n{:02}", number % NAMES);
        let holder = usize::try_from(number % CLIENTS).unwrap_or(0);
        hold(&mut writer, &name, number, &mut ops, holder)?;
    }
    writer.finish().map(drop)
}

fn hold(
    writer: &mut Writer<impl Write>,
    name: &str,
    number: u64,
    ops: &mut [u64],
    holder: usize,
) -> io::Result<()> {
    let other = holder + ops.len() / 2;
    let mut next = |client: usize| {
        ops[client] += 1;
        ops[client]
    };
    let (op, refused) = (next(holder), next(other));
    let at = 1_000_000_000 + number * 1_000_000;
    let (token, value) = (number / NAMES + 1, number / NAMES + 1);
    let request = |op, waits| EventKind::Requested {
        op,
        name: name.into(),
        shared: false,
        waits,
    };
    let write = |register| EventKind::Write {
        name: name.into(),
        register,
        token,
        value,
        accepted: true,
    };
    let until = at + 2_000_000_000;
    let events = [
        (holder, 0, request(op, true)),
        (holder, 100, EventKind::Granted { op, token, until }),
        (other, 200, request(refused, false)),
        (other, 300, refused_as_contended(refused)),
        (holder, 400, EventKind::Reported { op, until }),
        (holder, 500, write(RegisterKind::Fenced)),
        (holder, 600, write(RegisterKind::Control)),
        (holder, 700, EventKind::Releasing { op }),
        (holder, 800, EventKind::Released { op }),
    ];
    for (client, after, kind) in events {
        let client = u32::try_from(client).unwrap_or(0) + 1;
        writer.record(&Event::new(at + after, client, kind))?;
    }
    Ok(())
}

fn refused_as_contended(op: u64) -> EventKind {
    EventKind::Refused {
        op,
        kind: dlock_verify::history::RefusalKind::Contended,
        effect: dlock_verify::history::RefusalEffect::None,
    }
}
