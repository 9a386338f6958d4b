//! What was refused: distinct calls with their arguments, counted.

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The call's number on this machine's architecture.
    pub nr: u32,
    /// Its arguments as the kernel saw them.
    pub args: [u64; 6],
    /// How often it came with these arguments.
    pub count: u64,
}

/// The log of one run, bounded.
#[derive(Debug)]
pub struct Denials {
    kept: Vec<Denial>,
    keep: usize,
    total: u64,
    most: u64,
}

impl Denials {
    /// Keeps at most `keep` distinct calls; `most` is how many calls in all are borne.
    pub fn new(keep: u64, most: u64) -> Self {
        Self { kept: Vec::new(), keep: usize::try_from(keep).unwrap_or(usize::MAX), total: 0, most }
    }

    /// Writes one down.
    pub fn record(&mut self, nr: u32, args: &[u64; 6]) {
        self.total += 1;
        if let Some(same) = self.kept.iter_mut().find(|denial| denial.nr == nr && denial.args == *args) {
            same.count += 1;
        } else if self.kept.len() < self.keep {
            self.kept.push(Denial { nr, args: *args, count: 1 });
        }
    }

    /// Whether more were tried than are borne.
    pub fn exceeded(&self) -> bool {
        self.total >= self.most
    }

    /// All attempts, also those that are not kept apart.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The distinct ones, in the order of their first attempt.
    pub fn kept(&self) -> &[Denial] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::Denials;

    #[test]
    fn keeps_distinct_calls_and_counts_the_rest() {
        let mut log = Denials::new(2, 5);
        for nr in [1, 2, 1, 3] {
            log.record(nr, &[0; 6]);
        }
        assert_eq!(log.kept().iter().map(|d| (d.nr, d.count)).collect::<Vec<_>>(), [(1, 2), (2, 1)]);
        assert_eq!(log.total(), 4);
        assert!(!log.exceeded());
        log.record(3, &[0; 6]);
        assert!(log.exceeded());
    }

    #[test]
    fn other_arguments_are_another_denial() {
        let mut log = Denials::new(8, 8);
        log.record(41, &[2, 1, 0, 0, 0, 0]);
        log.record(41, &[10, 1, 0, 0, 0, 0]);
        assert_eq!(log.kept().len(), 2);
    }
}
