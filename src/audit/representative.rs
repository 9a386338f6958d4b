//! The plan of a policy for a skill that stands for all of them: the names of what differs from run to run are
//! written in angle brackets, everything else is what a run is held to.

use crate::plan::{FileFact, HostFacts, Inputs, Plan, PlanError, Program, Python};
use crate::policy::{CgroupMode, Policy};

/// The plan of a run by an ordinary user on a kernel with this Landlock ABI, with a cgroup only where the policy asks for one.
///
/// # Errors
/// What [`Plan::build`] says: nothing would run.
pub fn plan(policy: &Policy, landlock_abi: u32) -> Result<Plan, PlanError> {
    let host =
        HostFacts { euid: 1000, landlock_abi, cgroup: policy.file().cgroup.mode == CgroupMode::Required };
    let file = |path: &str| FileFact { path: path.to_owned(), bytes: 0 };
    let python = Python {
        usr: "<runtime>/usr".into(),
        interpreter: "/usr/bin/<python>".to_owned(),
        loader: "/usr/lib/<ld-linux>".to_owned(),
        argv_prefix: vec!["python3".to_owned(), "-I".to_owned(), "-S".to_owned(), "<boot>".to_owned()],
        environment: Vec::new(),
        digest: "<runtime>".to_owned(),
    };
    let program = Program::Script {
        python,
        files: vec![file("SKILL.md"), file("xray.json"), file("scripts/<script>.py")],
        script: "scripts/<script>.py".to_owned(),
        ids: ["TFROBOT_SESSION_ID", "TFROBOT_ROBOT_ID"]
            .map(|name| (name.to_owned(), "<caller>".to_owned()))
            .to_vec(),
    };
    // Where there is a network there are certificates; whose, the policy says.
    let inputs = Inputs { ca_bundle: policy.egress().map(|_| file("<certificates>")), ..Inputs::default() };
    Plan::build(policy, &program, &inputs, &host)
}

/// The same on a kernel that has all that the policy wants.
///
/// # Errors
/// As [`plan`].
pub fn wanted(policy: &Policy) -> Result<Plan, PlanError> {
    plan(policy, policy.file().landlock.target_abi)
}
