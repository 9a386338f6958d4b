//! What an older kernel loses of a policy, as text.

use crate::audit::kernels::{Cost, Loss};
use std::fmt::Write as _;

/// All losses, the worst first.
pub fn text(policy: &str, kernel: &str, losses: &[Loss]) -> String {
    if losses.is_empty() {
        return format!("policy {policy} on Linux {kernel}: everything holds\n");
    }
    let nothing = losses.iter().any(|loss| loss.cost == Cost::NothingRuns);
    let verdict = if nothing { "NOTHING RUNS" } else { "it runs, and this does not hold" };
    let mut out = format!("policy {policy} on Linux {kernel}: {verdict}\n");
    for loss in losses {
        let cost = match loss.cost {
            Cost::NothingRuns => "nothing runs",
            Cost::Weaker => "weaker",
            Cost::Lesser => "lesser",
        };
        let _ = writeln!(
            out,
            "  {cost:<13} {:<10} {} (Linux {}): {}",
            loss.layer, loss.feature, loss.release, loss.without
        );
    }
    out
}
