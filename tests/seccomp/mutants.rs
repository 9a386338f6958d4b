#[test]
fn time() {
    let t = std::time::Instant::now();
    let s = skilljail::seccomp::source_of("default").unwrap();
    for _ in 0..10 {
        skilljail::seccomp::load("x.json", s).unwrap();
    }
    eprintln!("load: {:?}", t.elapsed() / 10);
}
