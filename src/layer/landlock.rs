//! Landlock: what may be done with files and the network, by rights on the new root's hierarchies.

#[cfg(feature = "lab")]
use super::without::{Wall, Without};
use super::{ApplyError, Layer, Step as _};
use crate::policy::schema;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use serde::Serialize;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;

/// What a rule grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// List directories, read nothing.
    List,
    /// Read files, list directories.
    Read,
    /// Read one file.
    ReadFile,
    /// Read and execute one file.
    Execute,
    /// Read and write one file (a device; no ioctl).
    ReadWriteFile,
    /// Everything that a working directory needs: no execution, no device nodes, no sockets, no fifos.
    Work,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The path inside the jail.
    pub path: String,
    /// What it grants there and below.
    pub grant: Grant,
    /// Why.
    pub reason: String,
}

/// The ruleset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Below this nothing runs.
    pub require_abi: u32,
    /// What is wanted.
    pub target_abi: u32,
    /// Whose rights are handled: the lower of target and kernel.
    pub handled_abi: u32,
    /// Whether connecting by TCP is refused here too. Not with egress: then the net namespace alone says what a connection
    /// reaches, and the supervisor sees and writes down what is tried.
    pub no_connect: bool,
    /// Why these numbers.
    pub reason: String,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// The plan for a kernel with this ABI; `None` when that is below the floor.
pub fn plan(
    policy: &schema::Landlock,
    kernel_abi: u32,
    rules: Vec<Rule>,
    mode: schema::NetworkMode,
) -> Option<Plan> {
    let handled_abi = kernel_abi.min(policy.target_abi);
    (kernel_abi >= policy.require_abi).then(|| Plan {
        require_abi: policy.require_abi,
        target_abi: policy.target_abi,
        handled_abi,
        no_connect: mode == schema::NetworkMode::None,
        reason: policy.reason.clone(),
        rules,
    })
}

/// Paths as C strings and rights as bits.
#[derive(Debug)]
pub struct Prepared {
    abi: ABI,
    number: u32,
    no_connect: bool,
    rules: Vec<(CString, BitFlags<AccessFs>)>,
}

impl Prepared {
    /// A path with a NUL is refused here, where it can still be told.
    pub fn new(plan: &Plan) -> Result<Self, ApplyError> {
        let abi = ABI::from(i32::try_from(plan.handled_abi).unwrap_or(i32::MAX));
        let rules = plan
            .rules
            .iter()
            .map(|rule| {
                let path = CString::new(rule.path.as_str()).map_err(io::Error::from);
                Ok((path.step(Layer::Landlock, "a rule's path")?, bits(rule.grant, abi)))
            })
            .collect::<Result<_, ApplyError>>()?;
        Ok(Self { abi, number: plan.handled_abi, no_connect: plan.no_connect, rules })
    }
}

fn bits(grant: Grant, abi: ABI) -> BitFlags<AccessFs> {
    let work = AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::Refer
        | AccessFs::Truncate;
    let wanted = match grant {
        Grant::List => AccessFs::ReadDir.into(),
        Grant::Read => AccessFs::ReadFile | AccessFs::ReadDir,
        Grant::ReadFile => AccessFs::ReadFile.into(),
        Grant::Execute => AccessFs::ReadFile | AccessFs::Execute,
        Grant::ReadWriteFile => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
        Grant::Work => work,
    };
    // A right that this ABI does not handle cannot be granted, and needs no grant.
    wanted & AccessFs::from_all(abi)
}

fn open_path(path: &CString) -> Result<OwnedFd, ApplyError> {
    use nix::fcntl::{OFlag, open};
    use nix::sys::stat::Mode;
    open(path.as_c_str(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())
        .step(Layer::Landlock, "open a rule's path")
}

/// Restricts this process. Answers the ABI that is in force.
pub(super) fn apply(
    prepared: &Prepared,
    #[cfg(feature = "lab")] without: Without,
) -> Result<u32, ApplyError> {
    #[cfg(feature = "lab")]
    let bound = !without.has(Wall::PrivsNoNewPrivs);
    #[cfg(not(feature = "lab"))]
    let bound = true;
    #[cfg(feature = "lab")]
    if without.has(Wall::Landlock) {
        return Ok(0);
    }
    let refused = |step| ApplyError { layer: Layer::Landlock.name(), step, errno: last_errno() };
    let create = || {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(prepared.abi))?;
        let mut net = AccessNet::from_all(prepared.abi);
        if !prepared.no_connect {
            net.remove(AccessNet::ConnectTcp);
        }
        if !net.is_empty() {
            ruleset = ruleset.handle_access(net)?;
        }
        let scopes = Scope::from_all(prepared.abi);
        if !scopes.is_empty() {
            ruleset = ruleset.scope(scopes)?;
        }
        // Set by the layer before this one; the crate would set it again.
        ruleset.create().map(|created| created.no_new_privs(bound))
    };
    let mut ruleset = create().map_err(|_| refused("landlock_create_ruleset"))?;
    for (path, access) in &prepared.rules {
        let rule = PathBeneath::new(open_path(path)?, *access);
        ruleset = ruleset.add_rule(rule).map_err(|_| refused("landlock_add_rule"))?;
    }
    let status = ruleset.restrict_self().map_err(|_| refused("landlock_restrict_self"))?;
    if status.ruleset != RulesetStatus::FullyEnforced || status.no_new_privs != bound {
        return Err(refused("landlock_restrict_self: not fully enforced"));
    }
    Ok(prepared.number)
}

// The crate's errors wrap the errno deep; the kernel's last word on this (only) thread is the same.
fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().filter(|errno| *errno != 0).unwrap_or(libc::EOPNOTSUPP)
}
