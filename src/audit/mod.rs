//! What a policy means, what is wrong with it, what changed, and what an older kernel loses of it. Nothing is run.

pub mod diff;
pub mod explain;
pub mod kernels;
pub mod lint;
pub mod places;
pub mod region_words;
pub mod representative;
pub mod sections;
pub mod sentences;
pub mod sheet;
pub mod units;
