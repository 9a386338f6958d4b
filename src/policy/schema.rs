//! The policy file as it is written: a serde mirror, without judgement.
//!
//! Unknown keys are errors at every level, so that a misspelt restriction is never silently absent.

use serde::{Deserialize, Serialize};

/// A policy file.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    /// Where the JSON schema is; for editors only.
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The format of this file: 1.
    pub version: u32,
    /// The policy's name, `[a-z0-9-]`.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// The seccomp filter: a shipped one's name, or a file beside this one (it ends in `.json`).
    pub filter: String,
    /// Whether a skill must have an `xray.json`.
    pub contract: Contract,
    /// What the network namespace reaches.
    pub network: Network,
    /// Where a skill that asks for it may connect to; a must with network mode `egress`, refused with `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// What Landlock must and should handle.
    pub landlock: Landlock,
    /// Whether a delegated cgroup is a must.
    pub cgroup: Cgroup,
    /// The outer uids (and equal gids) that runs started by root are mapped to, one each.
    pub outer_ids: OuterIds,
    /// Which pinned Python is accepted.
    #[serde(default)]
    pub runtime: Runtime,
    /// Device nodes in `/dev`.
    pub devices: Vec<Device>,
    /// Environment variables of the script, beside those that every run has.
    pub environment: Vec<Variable>,
    /// Every bound.
    pub limits: Limits,
    /// Sentences about the compiled filter that must be provable, in the language of filters' `guarantees`
    /// (`never socket(domain=AF_INET)`, `only kill(sig!=SIGSYS)`): a policy that breaks one is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarantees: Vec<String>,
}

/// Whether `xray.json` is a must.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Contract {
    /// A skill without `xray.json` is refused.
    Required,
    /// A Python skill without one may run any `scripts/*.py` with any JSON object.
    Optional,
}

/// The network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The mode.
    pub mode: NetworkMode,
    /// Why.
    pub reason: String,
}

/// Network modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// An empty network namespace whose loopback is down.
    None,
    /// As `none` for a skill that asks for no network; for one that does, what `egress` lists, through the supervisor.
    Egress,
}

/// Where a skill may connect to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Egress {
    /// Which addresses.
    pub mode: EgressMode,
    /// The shipped filter of runs whose skill asks for no network.
    pub offline_filter: String,
    /// Mode `names`: the names, with their ports. An empty list allows nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<EgressAllow>,
    /// Mode `public`: the ports. An empty list allows nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<EgressPort>,
    /// Networks that count as inside, beside those that are no public internet anyway: public ranges of one's own, a
    /// translator's prefix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<EgressDeny>,
    /// What the server name of a TLS handshake must be; `require` without it.
    #[serde(default)]
    pub sni: Sni,
    /// The ports on which it is looked at; 443 without it.
    #[serde(default = "sni_ports")]
    pub sni_ports: Vec<u16>,
    /// Connections open at once.
    pub max_connections: Count,
    /// Connections of a run.
    pub max_connections_total: Count,
    /// Bytes of a run, both directions together.
    pub max_bytes: Size,
    /// From a connect of the script until the far end has answered.
    pub connect_timeout: Duration,
    /// A connection on which nothing moved for this long is reset.
    pub idle_timeout: Duration,
    /// The names' resolver.
    pub dns: EgressDns,
    /// A file of the host with the certificates (PEM) that the script finds as its CA bundle; the host's own without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
}

fn sni_ports() -> Vec<u16> {
    vec![443]
}

/// Which addresses a skill may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EgressMode {
    /// Those that a listed name had when it was looked up, on the ports listed for it.
    Names,
    /// Every global unicast address, on the listed ports.
    Public,
}

/// What the server name of a TLS handshake is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Sni {
    /// It must be there and be an allowed name that has this address.
    #[default]
    Require,
    /// It is written down.
    Log,
    /// It is not looked at.
    Off,
}

/// A name and its ports.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EgressAllow {
    /// A host name, or `*.` and one: any one label in its place.
    pub name: String,
    /// TCP ports; an empty list allows nothing.
    pub ports: Vec<u16>,
    /// Who needs it.
    pub reason: String,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EgressPort {
    /// A TCP port.
    pub port: u16,
    /// Who needs it.
    pub reason: String,
}

/// A network that counts as inside.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EgressDeny {
    /// An address, or one and a prefix length: `198.51.100.0/24`.
    pub network: String,
    /// What is there.
    pub reason: String,
}

/// The resolver of names.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EgressDns {
    /// Addresses that are asked, with a port or without; those of the host's /etc/resolv.conf when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// How long one lookup may take.
    pub timeout: Duration,
    /// Lookups of a run.
    pub max_lookups: Count,
}

/// The newest Landlock ABI that this program knows the rights of.
pub const NEWEST_LANDLOCK_ABI: u32 = 10;

/// Landlock.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Landlock {
    /// Below this ABI nothing runs.
    pub require_abi: u32,
    /// Every right of this ABI that the kernel knows is handled.
    pub target_abi: u32,
    /// Why.
    pub reason: String,
}

/// The cgroup.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cgroup {
    /// Whether it is a must.
    pub mode: CgroupMode,
    /// Why.
    pub reason: String,
}

/// Whether a cgroup is a must.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CgroupMode {
    /// Used where `--cgroup` hands one over; rlimits and tmpfs sizes otherwise.
    Optional,
    /// Without one nothing runs.
    Required,
}

/// Outer ids.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OuterIds {
    /// The first uid and gid of the range; not 0.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Why this range.
    pub reason: String,
}

/// The pinned Python.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// The one tree digest that is accepted; any verified tree without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A device node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Which.
    pub name: DeviceName,
    /// Who needs it.
    pub reason: String,
}

/// The devices that a jail may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DeviceName {
    /// `/dev/null`
    Null,
    /// `/dev/zero`
    Zero,
    /// `/dev/full`
    Full,
    /// `/dev/random`
    Random,
    /// `/dev/urandom`
    Urandom,
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Who needs it.
    pub reason: String,
}

/// A size, such as `64 MiB`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// The size: a whole number and B, KiB, MiB or GiB.
    pub value: String,
    /// Why this much.
    pub reason: String,
}

/// A duration, such as `30 s`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Duration {
    /// The duration: a whole number and ms, s or m.
    pub value: String,
    /// Why this long.
    pub reason: String,
}

/// A duration that the caller may change up to a ceiling.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Without `--timeout`.
    pub value: String,
    /// The most that `--timeout` may ask for.
    pub max: String,
    /// Why.
    pub reason: String,
}

/// A count.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The count.
    pub value: u64,
    /// Why this many.
    pub reason: String,
}

/// Every bound of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "review", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "each field is the limit that its name says; `Limits` in policy/limits.rs documents them"
)]
pub struct Limits {
    pub wall: Ceiling,
    pub cpu: Duration,
    pub input: Size,
    pub stdout: Size,
    pub stderr: Size,
    pub stderr_kept: Size,
    pub memory: Size,
    pub workdir: Size,
    pub workdir_inodes: Count,
    pub shm: Size,
    pub file: Size,
    pub open_files: Count,
    pub threads: Count,
    pub compute_threads: Count,
    pub denials_kept: Count,
    pub denials: Count,
    pub in_files: Count,
    pub in_total: Size,
    pub artifacts: Count,
    pub artifact: Size,
    pub artifacts_total: Size,
    pub artifact_depth: Count,
}
