//! The only unsafe code: thin, named as the man pages are, without policy and without logs.
