//! Random walks, for models that have too many states to search.

use dlock_verify::random::Random;

use crate::search::{Broken, Kind, Model};

/// In so many of 1,000 cases a fault that could happen is passed over.
const FAULTS_PASSED: u64 = 850;

/// Makes `walks` of up to `steps` each; a seed repeats them. Returns the number of grants.
pub(crate) fn walk<M: Model>(model: &M, seed: u64, walks: u32, steps: u32) -> Result<u64, Broken> {
    let mut random = Random::new(seed);
    let (mut grants, mut next) = (0, Vec::new());
    for _ in 0..walks {
        let (mut state, mut trace) = (model.first(), Vec::new());
        for _ in 0..steps {
            next.clear();
            model.steps(&state, &mut next);
            if next.iter().any(|step| step.what.kind != Kind::Fault) && random.chance(FAULTS_PASSED)
            {
                next.retain(|step| step.what.kind != Kind::Fault);
            }
            if next.is_empty() {
                break;
            }
            let chosen = random.below(next.len() as u64);
            let step = next[usize::try_from(chosen).unwrap_or_default()];
            trace.push(step.what);
            if let Some(clause) = step.broken {
                return Err(Broken { clause, trace });
            }
            grants += u64::from(matches!(step.what.kind, Kind::Granted(_)));
            state = step.to;
        }
    }
    Ok(grants)
}
