//! Two servers, their clients, and what is on its way between them.

use crate::{
    checks::{Checks, Grant, Violation},
    client::{Client, Connection, Learned, Request},
    dice::Dice,
    rules::{GUARD, Mutant, Rules, SKEW, SYNC, Setting},
    server::{Data, NAMES, Reply, Server},
    units::Micros,
};

const CLIENTS: usize = 3;

/// When a walk begins.
const START: Micros = 10_000_000;

/// How long a script takes.
const COMMAND: Micros = 200;

pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) rules: Rules,
    pub(crate) checks: Checks,
    now: Micros,
    servers: [Server; 2],
    /// Where clients connect to.
    primary: usize,
    clients: Vec<Client>,
    requests: Vec<Request>,
    replies: Vec<(Request, Reply)>,
    /// Whether a client that abandons a connection kills it in the server, too.
    kills: bool,
    /// The number of what comes next: a request, an attempt, a connection, a process.
    next: u32,
    /// The number of the last command.
    serial: u64,
    /// How often a server said whether a lock is free.
    pub(crate) said: usize,
}

impl World {
    pub(crate) fn new(seed: u64, rules: Rules) -> Self {
        let mut dice = Dice::new(seed);
        let mut ahead = || match rules.setting {
            Setting::Skewed => dice.between(-SKEW, SKEW),
            _ => 0,
        };
        let servers = [
            Server::new(1, ahead(), true),
            Server::new(2, ahead(), false),
        ];
        let mut world = Self {
            kills: dice.chance(0.5),
            dice,
            rules,
            checks: Checks::new(rules.setting),
            now: START,
            servers,
            primary: 0,
            clients: Vec::new(),
            requests: Vec::new(),
            replies: Vec::new(),
            next: 3,
            serial: 0,
            said: 0,
        };
        for client in 0..CLIENTS {
            let connection = world.connection(client);
            let client = Client::new(connection, &mut world.dice);
            world.clients.push(client);
        }
        world
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn connection(&mut self, client: usize) -> Connection {
        Connection {
            client,
            server: self.primary,
            run: self.servers[self.primary].run,
            number: self.number(),
        }
    }

    pub(crate) fn now(&self) -> Micros {
        self.now
    }

    pub(crate) fn primary(&mut self) -> &mut Server {
        &mut self.servers[self.primary]
    }

    pub(crate) fn any_client(&mut self) -> usize {
        self.dice.below(CLIENTS)
    }

    pub(crate) fn any_name(&mut self) -> usize {
        self.dice.below(NAMES)
    }

    pub(crate) fn pass(&mut self, time: Micros) {
        self.now += time;
        for client in &mut self.clients {
            client.tick(self.now);
        }
    }

    /// A client sends its next request; or returns for how long it must not.
    pub(crate) fn send_next(&mut self, client: usize) -> Option<Micros> {
        let id = self.number();
        let sender = &mut self.clients[client];
        let Some(command) = sender.next_command(self.now, id, &mut self.dice, &self.rules) else {
            return sender.guarded(self.now);
        };
        sender.sends(id);
        self.requests.push(Request {
            id,
            connection: sender.connection,
            command,
            sent: self.now,
        });
        None
    }

    /// The index of the oldest request of one connection.
    fn oldest<T>(dice: &mut Dice, all: &[T], of: impl Fn(&T) -> Connection) -> Option<usize> {
        if all.is_empty() {
            return None;
        }
        let chosen = of(&all[dice.below(all.len())]);
        all.iter().position(|one| of(one) == chosen)
    }

    /// A request arrives.
    pub(crate) fn deliver(&mut self) -> Result<(), Violation> {
        let at = Self::oldest(&mut self.dice, &self.requests, |request| request.connection);
        let Some(at) = at else { return Ok(()) };
        let request = self.requests.remove(at);
        let server = &mut self.servers[request.connection.server];
        if server.run != request.connection.run {
            return Ok(());
        }
        self.serial += 1;
        let reply = server.run(request.command, self.now, self.serial, &self.rules);
        self.pass(COMMAND);
        self.replies.push((request, reply));
        self.said += usize::from(matches!(reply, Reply::Granted { .. } | Reply::Taken));
        match reply {
            Reply::Granted { token, serial } => self.checks.answers(serial, token),
            _ => Ok(()),
        }
    }

    /// A reply arrives.
    pub(crate) fn answer(&mut self) -> Result<(), Violation> {
        let at = Self::oldest(&mut self.dice, &self.replies, |(request, _)| {
            request.connection
        });
        let Some(at) = at else { return Ok(()) };
        let (request, reply) = self.replies.remove(at);
        let index = request.connection.client;
        let client = &mut self.clients[index];
        if !client.waits_for(request.id) {
            return Ok(());
        }
        match client.hears(&request, reply, self.now, &mut self.dice, &self.rules) {
            Learned::Nothing => Ok(()),
            Learned::Demoted => {
                self.cut(index);
                Ok(())
            }
            Learned::Renewed => self.holds(index),
            Learned::Granted => {
                self.holds(index)?;
                let Some(hold) = self.clients[index].hold() else {
                    return Ok(());
                };
                self.checks.granted(Grant {
                    client: index,
                    name: hold.name,
                    token: hold.token,
                    serial: hold.serial,
                })
            }
        }
    }

    fn holds(&self, index: usize) -> Result<(), Violation> {
        let client = &self.clients[index];
        let Some(hold) = client.hold() else {
            return Ok(());
        };
        let holds_it = |other: &usize| {
            let held = self.clients[*other].hold();
            *other != index && held.is_some_and(|held| held.name == hold.name)
        };
        let others: Vec<usize> = (0..CLIENTS).filter(holds_it).collect();
        self.checks.holds(index, &others)?;
        match self.servers[self.primary].lock(hold.name) {
            Some(lock) if lock.serial == hold.serial => Checks::shows(lock.token, hold.token),
            _ => Ok(()),
        }
    }

    /// A client leaves its connection. What is on its way on it may arrive all the same.
    pub(crate) fn cut(&mut self, client: usize) {
        let abandoned = self.clients[client].connection;
        let (kills, dice) = (self.kills, &mut self.dice);
        self.requests
            .retain(|request| request.connection != abandoned || !(kills || dice.chance(0.5)));
        self.replies
            .retain(|(request, _)| request.connection != abandoned);
        let connection = self.connection(client);
        self.clients[client].connect(connection);
    }

    /// All clients that are connected to another server than the primary, or to an ended process, reconnect
    /// with this chance.
    fn reconnect(&mut self, chance: f64) {
        for client in 0..CLIENTS {
            let connection = self.clients[client].connection;
            let is_current = connection.server == self.primary
                && connection.run == self.servers[self.primary].run;
            if !is_current && self.dice.chance(chance) {
                self.cut(client);
            }
        }
    }

    /// The part of these data that a lagging replica may have.
    pub(crate) fn lagging(&mut self, server: usize) -> Data {
        let past = self.servers[server].past().clone();
        if past.is_empty() || self.dice.chance(0.2) {
            return self.servers[server].data();
        }
        past[self.dice.below(past.len())]
    }

    /// The primary ends, and starts with what its disk has.
    pub(crate) fn restart(&mut self) {
        let data = match self.dice.below(3) {
            0 => Data::default(),
            1 => self.lagging(self.primary),
            _ => self.primary().data(),
        };
        let run = self.number();
        let server = self.primary();
        server.run = run;
        server.life = run;
        server.load(data);
        self.reconnect(1.0);
    }

    /// The other server becomes primary, with what it has.
    pub(crate) fn promote(&mut self, demoted: Demoted) {
        let former = self.primary;
        let data = match self.dice.below(8) {
            0 => Data::default(),
            1 => self.servers[1 - former].data(),
            _ => self.lagging(former),
        };
        self.servers[former].is_primary = demoted == Demoted::CutOff;
        self.primary = 1 - former;
        let life = self.number();
        let server = self.primary();
        server.life = life;
        server.is_primary = true;
        server.load(data);
        let took = self.dice.between(SYNC, 3 * SYNC);
        self.pass(took);
        self.servers[self.primary].promoted = self.now;
        self.reconnect(if demoted == Demoted::Dead { 1.0 } else { 0.4 });
    }

    /// The primary forgets that it was promoted: `repl-backlog-ttl` is longer than any guard.
    pub(crate) fn forget_promotion(&mut self) {
        let (now, at_once) = (self.now, self.rules.is(Mutant::ForgetsAtOnce));
        let server = self.primary();
        if at_once || now - server.promoted >= GUARD {
            server.life = server.run;
        }
    }

    /// The clock of any server is set.
    pub(crate) fn set_clock(&mut self, by: Micros) {
        let server = self.dice.below(2);
        self.servers[server].ahead += by;
    }

    /// The data are put back to an earlier state, without notice.
    pub(crate) fn put_back(&mut self) {
        let data = self.lagging(self.primary);
        self.primary().load(data);
    }

    /// Another program has its way with a name.
    pub(crate) fn foreign(&mut self) {
        let (name, now) = (self.any_name(), self.now);
        let ttl = self.dice.between(5_000, 200_000);
        self.primary().foreign(name, now, ttl);
    }
}

/// The state of a former primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demoted {
    /// All connections to it end.
    Dead,
    /// The server is a replica, and connections to it live on.
    Replica,
    /// The server takes itself for the primary.
    CutOff,
}
