//! The needs that the numbers of a log stand for, as `MySQL`'s coordinator takes them (R21).

/// The numbers of the current count: since a new file, (0,0), or a number that does not grow.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    file: Option<u32>,
    base: u32,
    numbers: Vec<i64>,
}

/// Need of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamped {
    /// Number of transactions that must be committed first.
    pub(super) need: u32,
    /// True if it needs the transactions before the current count, and no others.
    pub(super) starts_over: bool,
}

impl Stamps {
    /// Returns the need of the next transaction, whose index is `index`.
    pub(super) fn next(&mut self, index: u32, file: u32, last_committed: i64, number: i64) -> Stamped {
        let unstamped = number <= 0;
        let other_file = self.file.replace(file) != Some(file);
        let starts_over = unstamped || other_file || self.numbers.last().is_some_and(|last| number <= *last);
        if starts_over {
            self.numbers.clear();
            self.base = if unstamped { index + 1 } else { index };
        }
        let need = if starts_over {
            index
        } else {
            self.base + self.numbers.partition_point(|older| *older <= last_committed) as u32
        };
        if !unstamped {
            self.numbers.push(number);
        }
        Stamped { need, starts_over: need > 0 && (starts_over || need == self.base) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r21_a_number_leads_to_the_transactions_up_to_it() {
        let mut stamps = Stamps::default();
        let mut needs = |index, file, numbers: (i64, i64)| stamps.next(index, file, numbers.0, numbers.1).need;
        assert_eq!([needs(0, 0, (0, 1)), needs(1, 0, (1, 2)), needs(2, 0, (1, 4)), needs(3, 0, (3, 5))], [0, 1, 1, 2]);
        assert_eq!([needs(4, 1, (0, 1)), needs(5, 1, (0, 2)), needs(6, 1, (1, 3))], [4, 4, 5]);
        assert_eq!([needs(7, 1, (0, 0)), needs(8, 1, (1, 4)), needs(9, 1, (0, 5))], [7, 8, 8]);
    }
}
