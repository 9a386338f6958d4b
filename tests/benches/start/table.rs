//! The figures, for people and for programs.

use super::place::{Place, checkout};
use serde_json::{Value, json};

/// What was measured so far.
pub(crate) struct Table {
    rows: Vec<Value>,
    ratios: Vec<Value>,
    rounds: usize,
    program: String,
}

/// Who runs this.
fn who() -> &'static str {
    if nix::unistd::geteuid().is_root() { "root" } else { "user" }
}

impl Table {
    pub(crate) fn new(place: &Place, rounds: usize) -> Self {
        println!("{} rounds, as {}, {}", rounds, who(), place.program.display());
        Self { rows: Vec::new(), ratios: Vec::new(), rounds, program: place.program.display().to_string() }
    }

    /// A figure.
    pub(crate) fn row(&mut self, group: &str, name: &str, unit: &str, p50: f64, p95: Option<f64>) {
        let tail = p95.map_or_else(String::new, |p95| format!("   p95 {p95:9.1}"));
        println!("{group:<12} {name:<44} {p50:10.1} {unit}{tail}");
        self.rows.push(json!({ "group": group, "name": name, "unit": unit, "p50": p50, "p95": p95 }));
    }

    /// A ratio and what it is to be: at most, or at least.
    pub(crate) fn ratio(&mut self, what: &str, value: f64, wanted: f64, at_most: bool) {
        let good = if at_most { value <= wanted } else { value >= wanted };
        let word = if at_most { "at most" } else { "at least" };
        println!(
            "             {what:<60} {value:6.3}  ({word} {wanted}{})",
            if good { "" } else { ": MISSED" }
        );
        self.ratios.push(
            json!({ "what": what, "value": value, "wanted": wanted, "at_most": at_most, "good": good }),
        );
    }

    /// Something that is not there.
    pub(crate) fn skip(&mut self, group: &str, name: &str, why: &str) {
        eprintln!("SKIP: {group}: {name}: {why}");
        self.rows.push(json!({ "group": group, "name": name, "skipped": why }));
    }

    /// Writes the JSON.
    pub(crate) fn finish(self) {
        let path = std::env::var("BENCH_JSON")
            .map_or_else(|_| checkout().join(format!(".run/bench-{}.json", who())), std::path::PathBuf::from);
        let document = json!({
            "version": 1,
            "as": who(),
            "program": self.program,
            "rounds": self.rounds,
            "kernel": std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
            "processors": std::thread::available_parallelism().map_or(0, usize::from),
            "rows": self.rows,
            "ratios": self.ratios,
        });
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("its folder");
        }
        std::fs::write(&path, format!("{document:#}\n")).expect("the figures can be written");
        println!("written to {}", path.display());
    }
}
