//! The shipped skill that fetches: its examples, against the world's servers.

use super::examples;
use super::support::own_runtime;
use super::world::{alone, policy, world};

#[test]
fn web_fetch_answers_its_examples() {
    let _alone = alone();
    let policy = policy(|_| {});
    let before = world().canaries("169.254.169.254");
    for example in examples::of("web-fetch") {
        let run = examples::prepare(own_runtime(), "web-fetch", &example);
        let run = run.args(["--policy", policy.path().to_str().unwrap()]).inside(&world().inside());
        examples::assert_answered("web-fetch", &example, &run.go());
    }
    assert_eq!(world().canaries("169.254.169.254"), before);
}
