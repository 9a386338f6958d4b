//! What this host can do, probed once into a value.
