//! Findings and lists for eyes and for tools. Nothing is decided here.

#[cfg(feature = "battery")]
pub mod battery;
#[cfg(feature = "review")]
pub mod changes;
#[cfg(feature = "review")]
pub mod explained;
#[cfg(feature = "review")]
pub mod findings;
#[cfg(feature = "review")]
pub mod html;
#[cfg(any(feature = "review", feature = "battery"))]
pub mod junit;
#[cfg(feature = "review")]
pub mod losses;
#[cfg(any(feature = "review", feature = "battery"))]
pub mod sarif;
#[cfg(feature = "review")]
pub mod sheet;
pub mod text;
