//! What the laboratory changes in a run (feature `lab`): walls left out, another program, calls let through. The caller
//! is in bounded namespaces of its own by then.

use super::{Job, Outcome, prepare};
use crate::layer::without::{Wall, Without};
use crate::seccomp::bpf::SockFilter;
use nix::sched::CloneFlags;

/// What is different.
#[derive(Debug, Default)]
pub struct Experiment {
    /// The walls that are left out.
    pub without: Without,
    /// A program in place of the filter's; its `notify` calls are let through and written down.
    pub let_through: Option<Vec<SockFilter>>,
}

/// [`super::run`] with an experiment.
pub fn run(job: Job<'_>, experiment: &Experiment) -> Outcome {
    super::run_with(job, experiment)
}

impl Experiment {
    /// The flags of the namespaces that are made.
    pub(super) fn namespaces(&self, planned: u64) -> u64 {
        let flags = [
            (Wall::IdmapUserns, CloneFlags::CLONE_NEWUSER),
            (Wall::IdmapPid, CloneFlags::CLONE_NEWPID),
            (Wall::NetNet, CloneFlags::CLONE_NEWNET),
            (Wall::NetIpc, CloneFlags::CLONE_NEWIPC),
            (Wall::NetUts, CloneFlags::CLONE_NEWUTS),
        ];
        let left_out = flags.iter().filter(|(wall, _)| self.without.has(*wall));
        left_out.fold(planned, |bits, (_, flag)| bits & !u64::from(flag.bits().unsigned_abs()))
    }

    /// Changes what was prepared for the child.
    pub(super) fn change(&self, prepared: &mut prepare::Prepared) {
        let layers = &mut prepared.layers;
        layers.without = self.without;
        layers.mounts.leave_out(self.without);
        layers.rlimits.limits.retain(|limit| !self.without.has_limit(limit.name));
        let idmap = &mut layers.idmap;
        for map in [&mut idmap.uid_map, &mut idmap.gid_map] {
            let inner = self.without.inner_id(crate::layer::idmap::INNER_ID);
            if let Some((_, outer)) = map.split_once(' ') {
                *map = format!("{inner} {outer}");
            }
        }
        if let Some(program) = &self.let_through {
            layers.seccomp.payload.clone_from(program);
            layers.seccomp.notify = true;
        }
    }

    /// Whether there is a user namespace whose maps must be written.
    pub(super) fn has_maps(&self) -> bool {
        !self.without.has(Wall::IdmapUserns)
    }
}
