//! The shipped requirement sets, installed for real: needs pip and its index, and fails where there is none.
#![allow(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells why on stderr"
)]

#[path = "runtime/boot.rs"]
mod boot;
#[path = "runtime/tree.rs"]
mod tree;

use boot::boot;
use skilljail::runtime::{Runtime, Verify};
use tree::{python_with_pip, run, scratch, skilljail, text};

const DATA: &str = r#"
import os
import numpy, numpy.testing, pandas, pandas.testing, matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot
numpy.testing.assert_allclose(numpy.linalg.inv(numpy.eye(3) * 2), numpy.eye(3) / 2)
frame = pandas.DataFrame({"n": [1, 2, 3], "k": list("xyx")})
assert frame.groupby("k").n.sum().to_dict() == {"x": 4, "y": 2}
assert pandas.date_range("2024-07-01", periods=1, tz="Europe/Berlin")[0].utcoffset().seconds == 7200
figure, axes = matplotlib.pyplot.subplots()
axes.plot([1, 2])
figure.savefig("/tmp/figure.png")
assert os.path.getsize("/tmp/figure.png") > 1000
"#;

const TFROBOT: &str = r#"
import requests, httpx, pydantic, yaml, dateutil.parser, openpyxl, docx, PIL.Image, importlib.metadata
httpx.Client(); requests.Session()
class Model(pydantic.BaseModel):
    n: int
assert Model(n="3").n == 3 and int(pydantic.VERSION.split(".")[0]) == 2
assert yaml.safe_load("a: [1]") == {"a": [1]} and yaml.CSafeLoader
assert dateutil.parser.parse("1 July 2024").month == 7
book = openpyxl.Workbook(); book.active["A1"] = 3; book.save("/tmp/a.xlsx")
import pandas
assert pandas.read_excel("/tmp/a.xlsx", header=None)[0].tolist() == [3]
document = docx.Document(); document.add_paragraph("x"); document.save("/tmp/a.docx")
PIL.Image.new("RGB", (4, 4)).save("/tmp/a.jpg")
assert importlib.metadata.version("numpy")
"#;

fn the_set_works(set: &str, script: &str) {
    let base = scratch();
    let tree = base.path().join("runtime");
    let mut command = skilljail();
    command.args(["runtime", "build", "--requirements", set, "--python"]).arg(python_with_pip());
    let output = run(command.arg("--out").arg(&tree));
    assert_eq!(output.status.code(), Some(0), "pip must reach its index for this test");
    let runtime = Runtime::open(&tree, Verify::Full).expect("a whole tree");
    runtime.needs(set).expect("it has its own set");
    runtime.needs("data").expect("both sets have data's packages");
    assert_eq!(runtime.sets(), [set]);
    assert_eq!(runtime.needs("tfrobot").is_ok(), set == "tfrobot");
    let output = boot(&tree, &[("main.py", &format!("{script}print('done')\n"))]);
    assert_eq!(text(&output.stdout), "done\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn data() {
    the_set_works("data", DATA);
}

#[test]
fn tfrobot() {
    the_set_works("tfrobot", &format!("{DATA}{TFROBOT}"));
}
