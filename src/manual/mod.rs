//! The manual: chapters for people who decide whether to trust this program.
//!
//! - [`least_capability`]: five questions to every jail, answered for this one, each with its test.
//! - [`threat_model`]: who attacks, what they have, what is defended, and what is not.
//! - [`layers`]: each wall, what it stops, what it rests on.
//! - [`statuses`]: every word a result document may begin with, and on whose testimony.
//! - [`defaults`]: why each default is what it is.
//! - [`speed`]: what a start consists of, what was done about each part, and jails that are started ahead.
//! - [`egress`]: where a skill may connect to, and what that cannot stop.
//! - [`battery`]: the attacks that run on any host, how they are judged, how to write one.
//! - [`past_escapes`]: how jails of this kind were escaped, what stops it here, and the attack that shows it.
//! - [`known_limits`]: what is not stopped.

pub mod battery;
pub mod defaults;
pub mod egress;
pub mod known_limits;
pub mod layers;
pub mod least_capability;
pub mod past_escapes;
pub mod speed;
pub mod statuses;
pub mod threat_model;
