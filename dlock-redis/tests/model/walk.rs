//! A random walk: what happens, how often.

use crate::{
    checks::Violation, dice::Dice, fault::Fault, rules::Rules, units::Micros, world::World,
};

/// How many steps it has.
const STEPS: usize = 400;

/// Between its last steps.
const PAUSE: Micros = 100;

/// Walks, and says how many locks were granted.
pub(crate) fn walk(seed: u64, rules: Rules) -> Result<usize, Violation> {
    let mut world = World::new(seed, rules);
    let variety = world.dice.one_of(&[0.2, 0.5, 1.0]);
    let shares = Fault::ALL.map(|fault| (fault, fault.share(&rules, variety, &mut world.dice)));
    let pace = world.dice.one_of(&[200, 2_000, 10_000]);
    for _ in 0..STEPS {
        let time = world.dice.between(0, pace);
        world.pass(time);
        match fault(&shares, &mut world.dice) {
            Some(fault) => fault.happens(&mut world),
            None => goes_on(&mut world)?,
        }
    }
    settle(&mut world)?;
    Ok(world.checks.grants())
}

/// Nothing goes wrong any more: a server says whether a lock is free.
fn settle(world: &mut World) -> Result<(), Violation> {
    let (since, said) = (world.now(), world.said);
    while world.said == said {
        world.pass(PAUSE);
        goes_on(world)?;
        world.checks.settles(world.now() - since)?;
    }
    Ok(())
}

fn fault(shares: &[(Fault, f64)], dice: &mut Dice) -> Option<Fault> {
    let mut at = dice.share();
    let hit = |(_, share): &&(Fault, f64)| {
        at -= share;
        at < 0.0
    };
    shares.iter().find(hit).map(|(fault, _)| *fault)
}

/// The step of a day without faults.
fn goes_on(world: &mut World) -> Result<(), Violation> {
    match world.dice.below(10) {
        0..3 => {
            let client = world.any_client();
            if let Some(wait) = world.send_next(client)
                && world.dice.chance(0.2)
            {
                world.pass(wait);
            }
            Ok(())
        }
        3..7 => world.deliver(),
        _ => world.answer(),
    }
}
