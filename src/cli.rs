//! The user's raw words, as clap structs. No file is touched here and no default depends on the host.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Runs one script of an AI agent's skill in a jail.
#[derive(Debug, Parser)]
#[command(name = "skilljail", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "made once per process, read once")]
pub enum Command {
    /// Run one script of a skill in the jail
    Run(RunArgs),
    /// Run any program in the same jail (no contract, stdin as it comes)
    Exec(ExecArgs),
    /// Review skill packages: form, contract and admission
    #[cfg(feature = "review")]
    Check(CheckArgs),
    /// Print the metadata of the skills in given directories
    List(ListArgs),
    /// Print one file of a skill: the one guarded way
    Read(ReadArgs),
    /// Digests of every file of every skill
    #[command(subcommand)]
    Manifest(ManifestCommand),
    /// The pinned Python
    #[command(subcommand)]
    Runtime(RuntimeCommand),
    /// What a policy lets through: show, compare, explain, check
    #[cfg(feature = "review")]
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// What this host can do, what is missing, and the exact fix
    Doctor(DoctorArgs),
    /// Attack the jail on this host, for real, and judge by what happens to canaries
    #[cfg(feature = "battery")]
    Attack(AttackArgs),
    /// Run seeded programs of system calls in the jail, and look what becomes of canaries
    #[cfg(feature = "battery")]
    Fuzz(FuzzArgs),
    /// The interpreter of such a program, inside of a jail
    #[cfg(feature = "battery")]
    #[command(hide = true)]
    FuzzInside,
    /// Shell completions, man pages and JSON schemas
    #[cfg(feature = "review")]
    #[command(subcommand)]
    Gen(GenCommand),
}

/// Words of `run`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct RunArgs {
    /// The skill: a path (it has a `/`) or a name below --skills
    pub skill: String,
    /// The script's key in `xray.json`: its path below `scripts/`
    pub script: String,
    /// Directory that holds skills
    #[arg(long, value_name = "DIR")]
    pub skills: Option<PathBuf>,
    /// The pinned Python's tree
    #[arg(long, value_name = "DIR")]
    pub runtime: Option<PathBuf>,
    /// A shipped profile's name, or a file (it has a `/` or ends in .json)
    #[arg(long, value_name = "NAME|FILE", default_value = "default")]
    pub policy: String,
    /// Read the input from a file instead of stdin (also `-`)
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Write the result document here
    #[arg(long, value_name = "FILE|fd:N")]
    pub report: Option<String>,
    /// Print the result document on stdout instead of the script's streams
    #[arg(long)]
    pub json: bool,
    /// Put a file into /workdir/in
    #[arg(long = "in", value_name = "NAME=FILE")]
    pub inputs: Vec<String>,
    /// Collect the artifacts of /workdir/out into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Refuse a skill that differs from this manifest
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Secrets, one KEY=VALUE a line
    #[arg(long, value_name = "FILE|fd:N")]
    pub secrets: Option<String>,
    /// Append one line a run to this audit log
    #[arg(long, value_name = "FILE|fd:N")]
    pub audit: Option<String>,
    /// Opaque id of the session, told to the script
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Opaque id of the robot, told to the script
    #[arg(long, value_name = "ID")]
    pub robot: Option<String>,
    /// Wall-clock limit, such as 5s or 2m, up to the policy's ceiling
    #[arg(long, value_name = "DUR")]
    pub timeout: Option<String>,
    /// Narrow where it may connect to: a name that the policy allows, and a port
    #[arg(long = "egress-allow", value_name = "NAME:PORT")]
    pub egress_allow: Vec<String>,
    /// A delegated cgroup v2 directory: one leaf per run is made in it
    #[arg(long, value_name = "DIR")]
    pub cgroup: Option<PathBuf>,
    /// Start ahead of the input: the report says when the script waits for it, and stdin brings it then
    #[arg(long, requires = "report", conflicts_with_all = ["input", "json"])]
    pub warm: bool,
    /// How long set-up and imports of a --warm run may take
    #[arg(long, value_name = "DUR", default_value = "30s", requires = "warm")]
    pub warm_ready: String,
    /// How long a --warm run may wait for its input
    #[arg(long, value_name = "DUR", default_value = "10m", requires = "warm")]
    pub warm_idle: String,
    /// Pass the script's stdout on as it comes; of one that goes over its limit a part is printed then
    #[arg(long, conflicts_with = "json")]
    pub stream: bool,
    /// Say in the report how long each step of the start took
    #[arg(long)]
    pub timings: bool,
}

/// Words of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// A shipped profile's name, or a file (it has a `/` or ends in .json)
    #[arg(long, value_name = "NAME|FILE", default_value = "default")]
    pub policy: String,
    /// Write the result document here
    #[arg(long, value_name = "FILE|fd:N")]
    pub report: Option<String>,
    /// Print the result document on stdout instead of the program's streams
    #[arg(long)]
    pub json: bool,
    /// Bind a host path read-only, DEST defaults to SRC
    #[arg(long = "ro-bind", value_name = "SRC[:DEST]")]
    pub ro_bind: Vec<String>,
    /// Collect the artifacts of /workdir/out into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Wall-clock limit, such as 5s or 2m, up to the policy's ceiling
    #[arg(long, value_name = "DUR")]
    pub timeout: Option<String>,
    /// Narrow where it may connect to: a name that the policy allows, and a port
    #[arg(long = "egress-allow", value_name = "NAME:PORT")]
    pub egress_allow: Vec<String>,
    /// A delegated cgroup v2 directory: one leaf per run is made in it
    #[arg(long, value_name = "DIR")]
    pub cgroup: Option<PathBuf>,
    /// Say in the report how long each step of the start took
    #[arg(long)]
    pub timings: bool,
    /// The program, an absolute path inside the jail, and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM [ARG]")]
    pub program: Vec<String>,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FindingsFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0
    Sarif,
}

/// How plain data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DataFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// How `list` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// `<available_skills>`, for prompts
    Xml,
}

/// How a manifest is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ManifestFormat {
    /// `manifest.json`
    Json,
    /// A TypeScript module of the same data
    Ts,
}

/// Words of `check`.
#[cfg(feature = "review")]
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Skill directories
    #[arg(value_name = "SKILL_DIR", required_unless_present = "explain")]
    pub skills: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = FindingsFormat::Text)]
    pub format: FindingsFormat,
    /// Also fail on these: `warnings`
    #[arg(long, value_name = "SEVERITY")]
    pub deny: Option<String>,
    /// Print the long text of a rule, such as SJ-K012
    #[arg(long, value_name = "RULE")]
    pub explain: Option<String>,
    /// The pinned Python's tree, to know which packages it has
    #[arg(long, value_name = "DIR")]
    pub runtime: Option<PathBuf>,
}

/// How the battery's result is printed.
#[cfg(feature = "battery")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AttackFormat {
    /// A table by class, for people
    Text,
    /// For programs
    Json,
    /// JUnit, a suite a class
    Junit,
    /// SARIF 2.1.0, a result an attack that was not contained
    Sarif,
}

/// Words of `attack`.
#[cfg(feature = "battery")]
#[derive(Debug, Args)]
pub struct AttackArgs {
    /// A shipped profile's name, or a file (it has a `/` or ends in .json)
    #[arg(long, value_name = "NAME|FILE", default_value = "default")]
    pub policy: String,
    /// The pinned Python's tree
    #[arg(long, value_name = "DIR")]
    pub runtime: Option<PathBuf>,
    /// Only the attacks of this class, or this one (CLASS/NAME); without the legitimate probes
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t = AttackFormat::Text)]
    pub format: AttackFormat,
    /// Runs at once; twice the processors if absent
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Also say how each attack ended that was contained
    #[arg(long, short)]
    pub verbose: bool,
}

/// Words of `fuzz`.
#[cfg(feature = "battery")]
#[derive(Debug, Args)]
pub struct FuzzArgs {
    /// How long
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub seconds: u64,
    /// The same seed makes the same programs
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// A shipped profile's name, or a file (it has a `/` or ends in .json)
    #[arg(long, value_name = "NAME|FILE", default_value = "default")]
    pub policy: String,
    /// Jails at once; one a processor if absent
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Write what is found here, minimised, each as the folder of an attack
    #[arg(long, value_name = "DIR", default_value = "findings")]
    pub out: PathBuf,
    /// Print the whole distribution of calls and errnos
    #[arg(long, short)]
    pub verbose: bool,
}

/// Words of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Directory that holds skills; may be given several times, the first name wins
    #[arg(long, value_name = "DIR", required = true)]
    pub skills: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    pub format: ListFormat,
}

/// Words of `read`.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// The skill: a path (it has a `/`) or a name below --skills
    pub skill: String,
    /// The file, relative to the skill, or a location that `list` printed
    pub path: String,
    /// Directory that holds skills
    #[arg(long, value_name = "DIR")]
    pub skills: Option<PathBuf>,
    /// Expand the placeholders of SKILL.md's body
    #[arg(long)]
    pub expand: bool,
    /// Opaque id of the session, for --expand
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Opaque id of the robot, for --expand
    #[arg(long, value_name = "ID")]
    pub robot: Option<String>,
    /// Append one line a refusal to this audit log
    #[arg(long, value_name = "FILE|fd:N")]
    pub audit: Option<String>,
}

/// Words of `manifest`.
#[derive(Debug, Subcommand)]
pub enum ManifestCommand {
    /// Print the manifest of the skills
    #[cfg(feature = "review")]
    Build {
        /// Directory that holds skills
        #[arg(long, value_name = "DIR", default_value = "skills")]
        skills: PathBuf,
        /// How to print
        #[arg(long, value_enum, default_value_t = ManifestFormat::Json)]
        format: ManifestFormat,
    },
    /// Compare the skills with a manifest; drift exits 121
    Verify {
        /// Directory that holds skills
        #[arg(long, value_name = "DIR", default_value = "skills")]
        skills: PathBuf,
        /// The manifest
        #[arg(value_name = "FILE")]
        manifest: PathBuf,
    },
}

/// Words of `runtime`.
#[derive(Debug, Subcommand)]
pub enum RuntimeCommand {
    /// Build the pinned Python once
    Build {
        /// The interpreter to take; the first `python3` that is real by default
        #[arg(long, value_name = "PATH")]
        python: Option<PathBuf>,
        /// A shipped set (data, tfrobot) or a hash-pinned requirements.txt
        #[arg(long, value_name = "SET|FILE")]
        requirements: Option<String>,
        /// Where the tree goes; it must not exist yet
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Check every file of the tree against its lock; drift exits 1
    Verify {
        /// The tree
        #[arg(long, value_name = "DIR")]
        runtime: Option<PathBuf>,
        /// Then note the files' inodes and times anew: after the tree was copied or came with an image, so that
        /// runs need not sum interpreter and libraries each time
        #[arg(long)]
        record: bool,
    },
    /// Print what the tree is
    Show {
        /// The tree
        #[arg(long, value_name = "DIR")]
        runtime: Option<PathBuf>,
        /// How to print
        #[arg(long, value_enum, default_value_t = DataFormat::Text)]
        format: DataFormat,
    },
}

/// How `policy show` prints.
#[cfg(feature = "review")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    /// For people
    Text,
    /// The plan itself: the value that `run` applies
    Json,
    /// One self-contained page, with a picture
    Html,
}

/// How `policy diff` prints.
#[cfg(feature = "review")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// A comment for a pull request
    Markdown,
}

/// How `policy check` prints.
#[cfg(feature = "review")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// JUnit
    Junit,
}

/// Words of `policy`.
#[cfg(feature = "review")]
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Print what a policy allows and refuses, why, and by which wall
    Show {
        /// A shipped profile's name, or a file (it has a `/` or ends in .json)
        #[arg(value_name = "NAME|FILE")]
        policy: String,
        /// How to print
        #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
        format: ShowFormat,
        /// Say instead what would not hold on a kernel of that release, such as 5.15
        #[arg(long, value_name = "RELEASE")]
        kernel: Option<String>,
    },
    /// Compare two policies by meaning; exits 10 when NEW lets through what OLD does not
    Diff {
        /// A shipped profile's name, or a file
        #[arg(value_name = "OLD")]
        old: String,
        /// A shipped profile's name, or a file
        #[arg(value_name = "NEW")]
        new: String,
        /// How to print
        #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
        format: DiffFormat,
        /// List what is wider and exit 0
        #[arg(long)]
        allow_wider: bool,
    },
    /// Find what is wrong with policies; exits 1 on an error, or on what --deny names
    Check {
        /// Shipped profiles' names, or files
        #[arg(value_name = "NAME|FILE", required_unless_present = "explain")]
        policies: Vec<String>,
        /// How to print
        #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
        format: CheckFormat,
        /// Also fail on these: `warnings`, `notes` (and warnings), or a rule's id
        #[arg(long, value_name = "SEVERITY|RULE")]
        deny: Vec<String>,
        /// Print the long text of a rule, such as SJ-P009
        #[arg(long, value_name = "RULE")]
        explain: Option<String>,
    },
    /// Print the JSON schema of policy files
    Schema,
    /// Say what each layer answers to one call, why, and what would allow it
    Explain {
        /// A shipped profile's name, or a file
        #[arg(value_name = "NAME|FILE")]
        policy: String,
        /// `socket(AF_INET, SOCK_STREAM)`, `openat("/etc/passwd", O_RDONLY)`, `clone3`
        #[arg(value_name = "CALL")]
        call: String,
        /// How to print
        #[arg(long, value_enum, default_value_t = DataFormat::Text)]
        format: DataFormat,
    },
}

/// Words of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// How to print
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
    /// A cgroup v2 directory to judge for `run --cgroup`
    #[arg(long, value_name = "DIR")]
    pub cgroup: Option<PathBuf>,
    /// Also say what of this policy would not hold on this host
    #[cfg(feature = "review")]
    #[arg(long, value_name = "NAME|FILE")]
    pub policy: Option<String>,
}

/// What has a schema.
#[cfg(feature = "review")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Policy files
    Policy,
    /// Result documents
    Report,
}

/// Words of `gen`.
#[cfg(feature = "review")]
#[derive(Debug, Subcommand)]
pub enum GenCommand {
    /// Completions for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// A JSON schema, generated from the types
    Schema {
        /// Of what
        #[arg(value_enum)]
        of: SchemaOf,
    },
    /// Man pages, one file a command
    Man {
        /// Where they go
        #[arg(value_name = "DIR")]
        out: PathBuf,
    },
}
