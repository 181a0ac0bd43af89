//! The recorder of this program, and the metrics that dlock has described to it.

use std::{collections::BTreeMap, sync::OnceLock};

use dlock_verify::support::Outcome;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::with_prometheus;

/// The recorder that the example installs; once in a program.
pub(crate) fn recorder() -> Outcome<PrometheusHandle> {
    static RECORDER: OnceLock<Result<PrometheusHandle, String>> = OnceLock::new();
    let recorder = RECORDER
        .get_or_init(|| with_prometheus::recorder().map_err(|error| error.to_string()))
        .clone()?;
    Ok(recorder)
}

/// The kind of each metric that dlock records, by its name.
pub(crate) async fn kinds() -> Outcome<BTreeMap<String, String>> {
    let recorder = recorder()?;
    let _locks = dlock::connect("memory:").await?;
    let page = recorder.render();
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let types = types.filter_map(|line| line.split_once(' '));
    let ours = types.filter(|(name, _)| name.starts_with("dlock_"));
    Ok(ours
        .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
        .collect())
}
