//! A store that is made of others: those that can be reached are read, and the others are named.

use dlock_core::{Error, Result};

use super::{
    finding::{Check, Severity},
    report::{About, Report},
};

const UNREACHABLE: Check = Check {
    id: "store.unreachable",
    setting: "the stores inside",
    clause: "K6",
    effect: "its settings are not read; the next failure may end the grants",
    advice: "start the server of that store",
    exception: None,
    readme: "dlock-raw/README.md#stores-that-are-made-of-others",
};

/// All checks.
pub(super) const ALL: &[Check] = &[UNREACHABLE];

/// The reports of the stores inside another one.
pub(super) struct Nested {
    /// The word for them: nodes or stores.
    word: &'static str,
    abouts: Vec<About>,
    report: Report,
    /// The first error.
    failed: Option<Error>,
}

impl Nested {
    pub(super) fn of(word: &'static str) -> Self {
        Self {
            word,
            abouts: Vec::new(),
            report: Report::default(),
            failed: None,
        }
    }

    /// Adds the result of the store `name`, which has no password.
    pub(super) fn add(&mut self, name: &str, probed: Result<Report>) {
        match probed {
            Ok(report) => {
                let evictions = self.report.evictions.max(report.evictions);
                self.abouts.push(report.about.clone());
                self.report.add(report);
                self.report.evictions = evictions;
            }
            Err(error) => {
                let found = format!("{name} cannot be reached: {error}");
                let finding = UNREACHABLE.finds(Severity::Warning, found, "answers of all stores");
                self.report.findings.push(finding);
                self.failed.get_or_insert(error);
            }
        }
    }

    /// All that was found, or the first error if no store was reached.
    pub(super) fn ended(mut self) -> Result<Report> {
        match self.failed {
            Some(error) if self.abouts.is_empty() => Err(error),
            _ => {
                self.report.note(&UNREACHABLE, None);
                self.report.about = about(&self.abouts, self.word);
                Ok(self.report)
            }
        }
    }
}

/// All stores in words.
fn about(abouts: &[About], word: &str) -> About {
    let texts = |text: fn(&About) -> &String| counted(abouts.iter().map(text));
    let joined = |texts: Vec<(&str, usize)>| {
        let texts: Vec<_> = texts.iter().map(|(text, _)| *text).collect();
        texts.join(" and ")
    };
    let products = texts(|about| &about.product);
    let products = products.iter().map(|(product, count)| match count {
        1 => (*product).to_owned(),
        _ => format!("{product} ({count} {word})"),
    });
    About {
        product: products.collect::<Vec<_>>().join(" and "),
        version: joined(texts(|about| &about.version)),
        role: joined(texts(|about| &about.role)),
        servers: abouts
            .iter()
            .flat_map(|about| about.servers.iter().cloned())
            .collect(),
    }
}

/// Each text once and its count, in the order of their first places. Empty ones are left out.
fn counted<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<(&'a str, usize)> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for text in texts.filter(|text| !text.is_empty()) {
        match counted.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => *count += 1,
            None => counted.push((text, 1)),
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use dlock_core::ErrorKind;

    use super::*;

    fn report(product: &str, version: &str) -> Report {
        let mut report = Report::default();
        report.about.product = product.to_owned();
        report.about.version = version.to_owned();
        report
    }

    #[test]
    fn equal_stores_are_counted() {
        for (stores, product, version) in [
            (&[("files", ""); 3][..], "files (3 nodes)", ""),
            (&[("Redis", "8.0")], "Redis", "8.0"),
            (
                &[("Redis", "8.0"), ("etcd", "3.6")],
                "Redis and etcd",
                "8.0 and 3.6",
            ),
            (
                &[("Redis", "8.0"), ("etcd", "3.6"), ("Redis", "8.0")],
                "Redis (2 nodes) and etcd",
                "8.0 and 3.6",
            ),
        ] {
            let mut nested = Nested::of("nodes");
            for (product, version) in stores {
                nested.add("a", Ok(report(product, version)));
            }
            let about = nested.ended().expect("a report").about;
            assert_eq!((&*about.product, &*about.version), (product, version));
        }
    }

    #[test]
    fn a_store_that_is_not_reached_is_named_once_and_the_others_are_read() {
        let mut nested = Nested::of("nodes");
        nested.add("node 1 (redis://a)", Ok(report("Redis", "8.0")));
        let refused = || Error::new(ErrorKind::Unavailable, "connection refused");
        nested.add("node 2 (redis://b)", Err(refused()));
        let report = nested.ended().expect("a report");
        assert_eq!(report.about.product, "Redis");
        let [finding] = report.findings.as_slice() else {
            panic!("{:?}", report.findings);
        };
        let found = "node 2 (redis://b) cannot be reached: connection refused";
        assert_eq!((finding.id, &*finding.found), (UNREACHABLE.id, found));

        let mut nested = Nested::of("nodes");
        nested.add("node 1 (redis://a)", Err(refused()));
        let error = nested.ended().expect_err("no store");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
}
