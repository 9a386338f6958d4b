//! What the laboratory leaves out (feature `lab`): one name a wall, fine enough to take down every other wall on the
//! way to a forbidden thing. No build without the feature knows this type.

/// Stands in every program that can leave a wall out, and in no other: a test looks for it in both.
pub const MARKER: &str = "skilljail laboratory: walls can be left out, nothing here is enforced for good";

macro_rules! walls {
    ($($wall:ident $name:literal $what:literal;)*) => {
        /// A wall that can be left out: a layer's part.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Wall {
            $(#[doc = $what] $wall,)*
        }

        impl Wall {
            /// All of them, in the order of the layers.
            pub const ALL: &[Self] = &[$(Self::$wall),*];

            /// `LAYER.PART`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$wall => $name,)* }
            }

            /// What stands there when it is not left out.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$wall => $what,)* }
            }
        }
    };
}

walls! {
    FdsClose "fds.close" "the caller's other descriptors are closed";
    FdsSignals "fds.signals" "signal dispositions and mask are reset";
    IdmapUserns "idmap.userns" "a user namespace of its own";
    IdmapMap "idmap.map" "the one id inside is not 0";
    IdmapPid "idmap.pid" "a pid namespace of its own";
    IdmapSession "idmap.session" "a session of its own";
    IdmapNested "idmap.nested" "max_user_namespaces is 0";
    MountsRoot "mounts.root" "nothing of the old root is there: without it the canary directory is, as /canary";
    MountsReadonly "mounts.readonly" "read-only mounts";
    MountsNosuid "mounts.nosuid" "nosuid mounts";
    MountsNodev "mounts.nodev" "nodev mounts";
    MountsNoexec "mounts.noexec" "noexec mounts";
    MountsSizes "mounts.sizes" "sizes and inodes of the tmpfs";
    NetNet "net.net" "a network namespace of its own";
    NetIpc "net.ipc" "an ipc namespace of its own";
    NetUts "net.uts" "a uts namespace of its own, with its host name";
    RlimitsCpu "rlimits.cpu" "RLIMIT_CPU";
    RlimitsFsize "rlimits.fsize" "RLIMIT_FSIZE";
    RlimitsNproc "rlimits.nproc" "RLIMIT_NPROC";
    RlimitsCore "rlimits.core" "RLIMIT_CORE";
    RlimitsMemlock "rlimits.memlock" "RLIMIT_MEMLOCK";
    RlimitsMsgqueue "rlimits.msgqueue" "RLIMIT_MSGQUEUE";
    RlimitsSigpending "rlimits.sigpending" "RLIMIT_SIGPENDING";
    RlimitsStack "rlimits.stack" "RLIMIT_STACK";
    RlimitsNice "rlimits.nice" "RLIMIT_NICE";
    RlimitsRtprio "rlimits.rtprio" "RLIMIT_RTPRIO";
    RlimitsAs "rlimits.as" "RLIMIT_AS";
    RlimitsNofile "rlimits.nofile" "RLIMIT_NOFILE";
    PrivsCapabilities "privs.capabilities" "no capability: without it all that the user namespace has are kept over exec";
    PrivsNoNewPrivs "privs.no_new_privs" "no_new_privs (without it Landlock and seccomp need privs.capabilities out, too)";
    PrivsKeyring "privs.keyring" "a session keyring of its own";
    Landlock "landlock" "the ruleset";
    Seccomp "seccomp" "the filter";
    SupervisorEnvironment "supervisor.environment" "the caller's environment is not handed on, and Python ignores what is its own of it";
    SupervisorDeadline "supervisor.deadline" "the deadlines of wall clock and processor";
    SupervisorOutput "supervisor.output" "the caps of stdout and stderr, and of denied calls";
    SupervisorArtifacts "supervisor.artifacts" "the collector's checks: without it a naive one reads what lies in /workdir/out (the battery only)";
    SupervisorPackage "supervisor.package" "the checks of a package: without it a naive reader reads the folder (the battery only)";
}

impl Wall {
    /// The layer that it belongs to.
    pub fn layer(self) -> &'static str {
        self.name().split('.').next().unwrap_or_default()
    }

    const fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// A word is neither a layer nor a wall: the caller's fault.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{word:?} is neither a layer nor a wall\nhint: `skilljail-lab walls` lists them")]
pub struct UnknownWall {
    /// The word.
    pub word: String,
}

/// A set of walls to leave out. Plain bits, so that the child can ask it after clone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Without(u64);

impl Without {
    /// Every wall of the words: `all`, a layer, or a wall.
    ///
    /// # Errors
    /// A word that is none of them; nothing is skipped in silence.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Self, UnknownWall> {
        let mut set = Self::default();
        for word in words.iter().map(AsRef::as_ref) {
            let before = set;
            let meant = |wall: &&Wall| word == "all" || wall.name() == word || wall.layer() == word;
            let named = Wall::ALL.iter().filter(meant);
            let count = named.map(|wall| set.0 |= wall.bit()).count();
            if count == 0 {
                debug_assert_eq!(before, set);
                return Err(UnknownWall { word: word.to_owned() });
            }
        }
        Ok(set)
    }

    /// All walls but these.
    #[must_use]
    pub fn all_but(self) -> Self {
        Self(Wall::ALL.iter().map(|wall| wall.bit()).sum::<u64>() & !self.0)
    }

    /// These and those.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether this wall is left out.
    pub const fn has(self, wall: Wall) -> bool {
        self.0 & wall.bit() != 0
    }

    /// Whether nothing is left out.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the rlimit of this name is left out.
    pub fn has_limit(self, name: &str) -> bool {
        self.walls().any(|wall| wall.name().strip_prefix("rlimits.") == Some(name))
    }

    /// The id inside: 0 where the map to another one is left out.
    pub const fn inner_id(self, planned: u32) -> u32 {
        if self.has(Wall::IdmapMap) && !self.has(Wall::IdmapUserns) { 0 } else { planned }
    }

    /// The walls that are left out.
    pub fn walls(self) -> impl Iterator<Item = Wall> {
        Wall::ALL.iter().copied().filter(move |wall| self.has(*wall))
    }
}

#[cfg(test)]
mod tests {
    use super::{UnknownWall, Wall, Without};

    fn names(words: &[&str]) -> Vec<&'static str> {
        Without::parse(words).unwrap().walls().map(Wall::name).collect()
    }

    #[test]
    fn a_layer_is_all_of_its_walls_and_a_wall_is_itself() {
        assert_eq!(names(&["net"]), ["net.net", "net.ipc", "net.uts"]);
        assert_eq!(names(&["seccomp", "mounts.root"]), ["mounts.root", "seccomp"]);
        assert_eq!(names(&["all"]).len(), Wall::ALL.len());
        assert_eq!(names(&[]).len(), 0);
    }

    #[test]
    fn a_word_that_means_nothing_is_refused() {
        for word in ["", "net.", "networks", "rlimits.nothing", "ALL"] {
            assert_eq!(
                Without::parse(&["landlock", word]),
                Err(UnknownWall { word: word.to_owned() }),
                "{word:?}"
            );
        }
    }

    #[test]
    fn all_but_is_the_rest() {
        let net = Without::parse(&["net"]).unwrap();
        assert!(!net.all_but().has(Wall::NetIpc) && net.all_but().has(Wall::Seccomp));
        assert_eq!(net.all_but().all_but(), net);
        assert_eq!(net.all_but().and(net), Without::parse(&["all"]).unwrap());
        assert!(net.all_but().has_limit("as") && !net.has_limit("as"));
    }

    #[test]
    fn every_layer_and_every_limit_can_be_left_out() {
        for layer in crate::layer::Layer::ALL {
            assert!(Wall::ALL.iter().any(|wall| wall.layer() == layer.name()), "{}", layer.name());
        }
        let policy = crate::policy::Policy::load("default").unwrap();
        let all = Without::parse(&["all"]).unwrap();
        for limit in crate::layer::rlimits::plan(policy.limits(), true).limits {
            assert!(all.has_limit(limit.name), "{}", limit.name);
        }
    }
}
