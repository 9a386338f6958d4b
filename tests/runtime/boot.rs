//! Boots trees in a root that has nothing but them.

use super::tree::{scratch, text};
use skilljail::runtime::{Runtime, Verify};
use std::path::Path;
use std::process::{Command, Output};

/// Makes a root with `usr` of the tree, the two links of a jail, and empty folders; then becomes the interpreter.
const ENTER: &str = r#"
root=$1 usr=$2; shift 2
mount -t tmpfs none "$root"
mkdir -p "$root/usr" "$root/workdir" "$root/tmp" "$root/dev" "$root/skill/scripts"
cp -R "$root.scripts/." "$root/skill/scripts"
mount --bind "$usr" "$root/usr"
mount -o remount,bind,ro "$root/usr" || mount -o remount,bind,ro,nosuid,nodev "$root/usr"
ln -s usr/lib "$root/lib"; ln -s usr/lib64 "$root/lib64"
for device in null urandom; do : > "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
exec env -i "$@"
"#;

/// Runs a script, with other files beside it, as the jail would.
pub(crate) fn boot(tree: &Path, scripts: &[(&str, &str)]) -> Output {
    let runtime = Runtime::open(tree, Verify::Full).expect("a whole tree");
    let base = scratch();
    let root = base.path().join("root");
    std::fs::create_dir(&root).expect("root");
    std::fs::create_dir(base.path().join("root.scripts")).expect("scripts");
    for (name, source) in scripts {
        std::fs::write(base.path().join("root.scripts").join(name), source).expect("script");
    }
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "--", "sh", "-ec", ENTER, "sh"]);
    command.arg(&root).arg(tree.canonicalize().expect("tree").join("usr"));
    for (name, value) in
        [("HOME", "/workdir"), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8"), ("TZ", "UTC"), ("PATH", "")]
    {
        command.arg(format!("{name}={value}"));
    }
    for hostile in ["PYTHONPATH=/tmp", "PYTHONHOME=/tmp", "PYTHONSTARTUP=/skill/scripts/json.py"] {
        command.arg(hostile);
    }
    for (name, value) in runtime.env() {
        command.arg(format!("{name}={value}"));
    }
    // The host's unshare enters the new root and becomes the interpreter; it needs no /proc for that.
    command.args(["/usr/bin/unshare", "--wd=/workdir"]).arg(format!("--root={}", root.display()));
    command.arg("--").args(runtime.argv_prefix()).arg("/skill/scripts/main.py");
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = command.output().expect("unshare (util-linux) starts");
    eprintln!("{}\n{}", text(&output.stdout), text(&output.stderr));
    output
}
