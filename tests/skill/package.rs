//! Packages for tests: a valid skeleton, and what a test changes in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const CONTRACT: &str = r#"{
  "network": "none",
  "scripts": {
    "main.py": {
      "description": "Says hello",
      "parameters": {
        "type": "object",
        "properties": {"who": {"type": "string", "description": "Whom", "maxLength": 40}},
        "required": ["who"]
      }
    }
  }
}
"#;

pub const SCRIPT: &str =
    "import json\nimport sys\n\nprint(json.dumps({'hello': json.load(sys.stdin)['who']}))\n";

/// A folder below a temporary directory, named `a-skill`.
pub struct Package {
    pub _keep: Option<tempfile::TempDir>,
    pub root: PathBuf,
}

impl Package {
    pub fn new(runtime: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("a-skill");
        let package = Self { _keep: Some(dir), root };
        let runtime = runtime.map(|word| format!("runtime: {word}\n")).unwrap_or_default();
        package.file(
            "SKILL.md",
            format!("---\nname: a-skill\ndescription: Greets people.\n{runtime}---\n# A skill\n\nText.\n"),
        )
    }

    /// A prompt-only skill without findings.
    pub fn prompt() -> Self {
        Self::new(None)
    }

    /// A skill with one Python script, without findings.
    pub fn python() -> Self {
        Self::new(Some("cubesandbox::python")).file("xray.json", CONTRACT).file("scripts/main.py", SCRIPT)
    }

    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Replaces text in a file.
    pub fn edit(self, path: &str, from: &str, to: &str) -> Self {
        let text = fs::read_to_string(self.root.join(path)).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        self.file(path, text.replace(from, to))
    }

    /// Adds lines to the frontmatter.
    pub fn front(self, lines: &str) -> Self {
        self.edit(
            "SKILL.md",
            "description: Greets people.\n",
            &format!("description: Greets people.\n{lines}\n"),
        )
    }

    pub fn body(self, text: &str) -> Self {
        self.edit("SKILL.md", "Text.\n", text)
    }

    pub fn script(self, text: &str) -> Self {
        self.file("scripts/main.py", text)
    }

    /// Replaces the schema of the one parameter.
    pub fn parameter(self, schema: &str) -> Self {
        self.edit("xray.json", r#"{"type": "string", "description": "Whom", "maxLength": 40}"#, schema)
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
        self
    }

    pub fn remove(self, path: &str) -> Self {
        fs::remove_file(self.root.join(path)).unwrap();
        self
    }
}

/// Runs the program.
pub fn skilljail(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_skilljail")).args(words).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The shipped fixtures.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/skills")
}
