//! Findings and lists for eyes and for tools. Nothing is decided here.

#[cfg(feature = "review")]
pub mod changes;
#[cfg(feature = "review")]
pub mod explained;
#[cfg(feature = "review")]
pub mod findings;
#[cfg(feature = "review")]
pub mod html;
#[cfg(feature = "review")]
pub mod junit;
#[cfg(feature = "review")]
pub mod losses;
#[cfg(feature = "review")]
pub mod sarif;
#[cfg(feature = "review")]
pub mod sheet;
pub mod text;
