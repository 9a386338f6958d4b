//! numpy, pandas and matplotlib in the jail: their imports, real computations, the shipped skills that need them. The
//! runtime is built with pip from its index.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "skills/examples.rs"]
mod examples;
mod support;

use examples::{assert_all, assert_answered, prepare};
use serde_json::json;
use std::fs;
use support::{Run, Skill, data_runtime};

const COMPUTE: &str = r#"
import json
import numpy as np
import pandas as pd

# A system of 400 equations by LAPACK, a product by BLAS, a transform, a generator with a known stream.
rng = np.random.default_rng(7)
a = rng.standard_normal((400, 400))
x = np.arange(400.0)
solved = np.linalg.solve(a, a @ x)
wave = np.fft.rfft(np.sin(np.arange(64) * 2 * np.pi * 5 / 64))

rows = 200_000
frame = pd.DataFrame({"k": np.arange(rows) % 7, "n": np.arange(rows)})
totals = frame.groupby("k").n.sum()
joined = frame.head(700).merge(pd.DataFrame({"k": range(7), "name": list("abcdefg")}), on="k")
days = pd.Series(1, pd.date_range("2024-03-30 23:00", periods=4, freq="h", tz="Europe/Berlin"))
frame.head(1000).to_csv("/tmp/t.csv", index=False)

print(json.dumps({
    "solved": bool(np.allclose(solved, x, atol=1e-6)),
    "peak": int(np.abs(wave).argmax()),
    "totals": [int(n) for n in totals],
    "sum": int(frame.n.sum()),
    "names": joined.name.value_counts().sort_index().to_dict(),
    "hours": [t.strftime("%H%z") for t in days.index],
    "read_back": int(pd.read_csv("/tmp/t.csv").n.sum()),
}))
"#;

#[test]
fn numpy_and_pandas_compute() {
    let skill = Skill::new(COMPUTE);
    let ran = Run::with_runtime(data_runtime(), &skill.path(), "main.py").go();
    let rows = 200_000_u64;
    let totals: Vec<u64> = (0..7).map(|k| (0..rows).filter(|n| n % 7 == k).sum()).collect();
    assert_eq!(
        ran.value(),
        json!({
            "solved": true, "peak": 5, "totals": totals, "sum": rows * (rows - 1) / 2,
            "names": {"a": 100, "b": 100, "c": 100, "d": 100, "e": 100, "f": 100, "g": 100},
            "hours": ["23+0100", "00+0100", "01+0100", "03+0200"], "read_back": 499_500
        })
    );
    assert_eq!(ran.report["denials"], json!([]), "ordinary computing meets no denial");
}

#[test]
fn table_stats_answers_its_examples() {
    assert_all(data_runtime(), "table-stats");
}

#[test]
fn plot_png_answers_its_examples_and_its_picture_is_collected() {
    assert_all(data_runtime(), "plot-png");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let out = folder.path().join("pictures");
    let run = prepare(data_runtime(), "plot-png", "plot").args(["--out".as_ref(), out.as_os_str()]);
    let ran = run.go();
    assert_answered("plot-png", "plot", &ran);
    let png = fs::read(out.join("plot.png")).expect("the artifact");
    assert_eq!(png.get(..8), Some(b"\x89PNG\r\n\x1a\n".as_slice()));
    // IHDR: width and height as the example asks.
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((number(16), number(20)), (640, 400));
    let artifacts = ran.report["artifacts"].as_array().expect("artifacts");
    assert_eq!(artifacts.len(), 1, "{artifacts:?}");
    assert_eq!(artifacts[0]["bytes"], json!(png.len()));
}
