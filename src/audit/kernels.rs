//! What would not hold on an older kernel, from a table of features with the release of each.

use crate::plan::Plan;
use crate::policy::{CgroupMode, Policy};
use crate::seccomp::{Action, Filter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The table as it stands in the repository.
const SOURCE: &str = include_str!("../../policies/kernels.json");

/// A release: its first two numbers.
pub type Release = (u32, u32);

/// Whether a run needs a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Needed {
    Always,
    Cgroup,
    Good,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Feature {
    name: String,
    release: String,
    layer: String,
    needed: Needed,
    without: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LandlockAbi {
    abi: u32,
    release: String,
    without: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "about")]
    _about: String,
    features: Vec<Feature>,
    landlock: Vec<LandlockAbi>,
}

/// What a loss costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Nothing runs.
    NothingRuns,
    /// It runs with a wall less, or one that is lower; the result says so.
    Weaker,
    /// It runs, and something is not told or not offered.
    Lesser,
}

/// One thing that would not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// What it costs.
    pub cost: Cost,
    /// The layer.
    pub layer: String,
    /// What is missing.
    pub feature: String,
    /// The release that has it.
    pub release: String,
    /// What that means.
    pub without: String,
}

/// Not a release. The caller's fault.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a kernel release\nhint: write the first two numbers, such as 5.15 or 6.1")]
pub struct ReleaseError(String);

/// Reads `5.15`, also `5.15.0-91-generic`.
///
/// # Errors
/// Anything else.
pub fn release(text: &str) -> Result<Release, ReleaseError> {
    let wrong = || ReleaseError(text.to_owned());
    let (major, rest) = text.split_once('.').ok_or_else(wrong)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let minor = rest.get(..end).unwrap_or_default();
    Ok((major.parse().map_err(|_| wrong())?, minor.parse().map_err(|_| wrong())?))
}

fn table() -> Table {
    // A test reads it; of a table that cannot be read nothing is known, and `unreadable` says so.
    serde_json::from_str(SOURCE).unwrap_or_default()
}

/// The newest Landlock ABI of a mainline kernel of that release; 0 where there is none.
pub fn landlock_abi(kernel: Release) -> u32 {
    let known =
        table().landlock.into_iter().filter(|entry| release(&entry.release).is_ok_and(|of| of <= kernel));
    known.map(|entry| entry.abi).max().unwrap_or(0)
}

/// Everything that would not hold on a kernel, the worst first. `abi` is its Landlock ABI: that of the mainline release, or what
/// a running kernel says of itself.
pub fn losses(policy: &Policy, plan: &Plan, filter: &Filter, kernel: Release, abi: u32) -> Vec<Loss> {
    let table = table();
    let mut losses = Vec::new();
    if table.features.is_empty() {
        losses.push(loss(Cost::NothingRuns, "host", "the table of kernel features", "", "it cannot be read"));
    }
    let cgroup = policy.file().cgroup.mode == CgroupMode::Required;
    for feature in &table.features {
        if release(&feature.release).is_ok_and(|of| of > kernel) {
            let cost = match feature.needed {
                Needed::Always => Cost::NothingRuns,
                Needed::Cgroup if cgroup => Cost::NothingRuns,
                Needed::Cgroup | Needed::Good => Cost::Lesser,
            };
            let without = match feature.needed {
                Needed::Cgroup if !cgroup => format!("with --cgroup only: {}", feature.without),
                _ => feature.without.clone(),
            };
            losses.push(loss(cost, &feature.layer, &feature.name, &feature.release, &without));
        }
    }
    let landlock = &plan.landlock;
    for entry in table.landlock.iter().filter(|entry| entry.abi > abi && entry.abi <= landlock.target_abi) {
        let needed = entry.abi <= landlock.require_abi;
        let cost = match entry.abi {
            _ if needed => Cost::NothingRuns,
            7 | 8 => Cost::Lesser,
            _ => Cost::Weaker,
        };
        let without = if needed {
            format!("the policy requires ABI {}: nothing runs", landlock.require_abi)
        } else {
            entry.without.clone()
        };
        losses.push(loss(cost, "landlock", &format!("Landlock ABI {}", entry.abi), &entry.release, &without));
    }
    losses.extend(newer_calls(filter, kernel));
    losses.sort_by_key(|loss| loss.cost);
    losses
}

/// Calls that the filter allows and the kernel does not have, one loss a release: they are ENOSYS there, to which programs
/// have an answer.
fn newer_calls(filter: &Filter, kernel: Release) -> Vec<Loss> {
    let mut by_release: BTreeMap<Release, Vec<&str>> = BTreeMap::new();
    for rule in filter.rules().iter().filter(|rule| rule.action() == Action::Allow) {
        if let Some((major, minor)) = rule.call().since
            && (u32::from(major), u32::from(minor)) > kernel
        {
            let names = by_release.entry((major.into(), minor.into())).or_default();
            if !names.contains(&rule.call().name.as_str()) {
                names.push(&rule.call().name);
            }
        }
    }
    by_release
        .into_iter()
        .map(|((major, minor), names)| {
            loss(
                Cost::Lesser,
                "seccomp",
                &format!("the calls {}", names.join(", ")),
                &format!("{major}.{minor}"),
                "ENOSYS there; programs fall back",
            )
        })
        .collect()
}

fn loss(cost: Cost, layer: &str, feature: &str, release: &str, without: &str) -> Loss {
    Loss {
        cost,
        layer: layer.to_owned(),
        feature: feature.to_owned(),
        release: release.to_owned(),
        without: without.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::representative;

    fn on(policy: &str, kernel: &str) -> Vec<Loss> {
        let policy = Policy::load(policy).unwrap();
        let plan = representative::wanted(&policy).unwrap();
        let kernel = release(kernel).unwrap();
        losses(&policy, &plan, policy.filter().filter().unwrap(), kernel, landlock_abi(kernel))
    }

    fn names(losses: &[Loss], cost: Cost) -> Vec<&str> {
        losses.iter().filter(|loss| loss.cost == cost).map(|loss| loss.feature.as_str()).collect()
    }

    #[test]
    fn the_table_is_sorted_and_whole() {
        let table = table();
        let releases =
            |list: Vec<&String>| list.into_iter().map(|text| release(text).unwrap()).collect::<Vec<_>>();
        assert!(releases(table.features.iter().map(|f| &f.release).collect()).is_sorted());
        assert!(releases(table.landlock.iter().map(|f| &f.release).collect()).is_sorted());
        assert!(table.landlock.iter().map(|entry| entry.abi).eq(1..=9));
    }

    #[test]
    fn what_an_older_kernel_loses() {
        assert_eq!(names(&on("default", "5.15"), Cost::NothingRuns), ["Landlock ABI 2"]);
        let debian = on("default", "6.1");
        assert_eq!(names(&debian, Cost::NothingRuns), [""; 0]);
        assert_eq!(
            names(&debian, Cost::Weaker),
            ["Landlock ABI 3", "Landlock ABI 4", "Landlock ABI 5", "Landlock ABI 6"]
        );
        assert!(names(&on("strict", "6.1"), Cost::NothingRuns).contains(&"Landlock ABI 6"));
        assert!(names(&on("default", "4.19"), Cost::NothingRuns).contains(&"pidfd_getfd"));
        assert!(names(&on("strict", "5.6"), Cost::NothingRuns).contains(&"clone3 into a cgroup"));
        assert_eq!(on("default", "6.18"), []);
    }

    #[test]
    fn releases_as_people_write_them() {
        assert_eq!(release("5.15"), Ok((5, 15)));
        assert_eq!(release("6.1.0-18-amd64"), Ok((6, 1)));
        for bad in ["", "6", "6.", "x.1", "6.x", "-1.2"] {
            assert!(release(bad).is_err(), "{bad:?}");
        }
    }
}
