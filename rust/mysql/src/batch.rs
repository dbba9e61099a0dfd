//! Batches of transactions that one session commits one after the other, without a question to the caller in between.
//!
//! A transaction of a single statement ([`run_each`]) is committed by that statement, or not at all. The commit of any
//! other transaction ([`commit_each`]) begins the text of the next: this saves a round trip for each, and a text ends
//! at its first error, so nothing is begun after a commit that failed. The results of a transaction's statements are
//! checked before its commit is sent.

use super::connection::{Cell, Error, ResultSet};

/// Results that the statements of a transaction must have before it may be committed.
#[derive(Debug, Clone, Copy)]
pub struct Guard {
    /// Number of results of a text from its guard on; fewer mean that it was interrupted.
    pub results: usize,
    /// Number of statements before the guard in the first text, which begin a transaction.
    pub first: usize,
    /// Number of statements before the guard in every other text, which begins with the previous commit.
    pub others: usize,
    /// The epoch that the guard must return.
    pub epoch: u64,
}

impl Guard {
    /// Checks the results from the guard on.
    fn holds(&self, results: &[ResultSet]) -> bool {
        let Some(result) = results.first() else { return false };
        let found = match result.rows.first().and_then(|row| row.first()) {
            Some(Cell::Unsigned(epoch)) => *epoch == self.epoch,
            Some(Cell::Int(epoch)) => u64::try_from(*epoch) == Ok(self.epoch),
            _ => false,
        };
        found && results.len() >= self.results
    }
}

/// Progress of a batch at its end.
#[derive(Debug)]
pub struct Ended {
    /// Transactions whose commit was acknowledged.
    pub done: usize,
    /// True if the commit of the next one was sent, and its answer is missing.
    pub committing: bool,
    /// Results of the next one's statements from the guard on, as far as they were answered.
    pub results: Vec<ResultSet>,
    /// Error of these statements or of the commit; none where the guard does not hold, or an answer came without its
    /// results.
    pub error: Option<Error>,
}

/// Runs and commits transactions until one of them fails.
///
/// # Arguments
///
/// * `texts`: the statements of each up to its rows, from the second one on after the previous transaction's commit.
/// * `guard`: the results that these must have.
/// * `send`: runs a text; also returns the results of the statements before one that fails.
pub fn commit_each(
    texts: &[&[u8]],
    guard: Guard,
    mut send: impl FnMut(&[u8], &mut Vec<ResultSet>) -> Result<(), Error>,
) -> Ended {
    let mut done = 0;
    for (index, text) in texts.iter().enumerate() {
        let before = if index == 0 { guard.first } else { guard.others };
        let mut results = Vec::with_capacity(before + guard.results);
        let answer = send(text, &mut results);
        if index > 0 {
            if results.is_empty() {
                return Ended { done, committing: true, results, error: answer.err() };
            }
            done += 1;
        }
        results.drain(..before.min(results.len()));
        if answer.is_err() || !guard.holds(&results) {
            return Ended { done, committing: false, results, error: answer.err() };
        }
    }
    let mut results = Vec::new();
    let error = send(b"COMMIT", &mut results).err();
    let committing = results.is_empty();
    Ended { done: done + usize::from(!committing), committing, results, error }
}

/// Progress of a batch of single-statement transactions at its end.
#[derive(Debug)]
pub struct WholeEnded {
    /// Transactions that are committed.
    pub done: usize,
    /// Reason why the next one is not committed, or not known to be; none if it is no single statement.
    pub error: Option<Error>,
}

/// Runs transactions of one statement each, until one of them fails or needs more.
///
/// # Arguments
///
/// * `texts`: make the statement of each.
/// * `send`: runs a statement.
pub fn run_each(
    texts: impl Iterator<Item = Option<Vec<u8>>>,
    mut send: impl FnMut(&[u8], &mut Vec<ResultSet>) -> Result<(), Error>,
) -> WholeEnded {
    let mut results = Vec::with_capacity(1);
    let mut done = 0;
    for text in texts.map_while(|text| text) {
        results.clear();
        if let Err(error) = send(&text, &mut results) {
            return WholeEnded { done, error: Some(error) };
        }
        done += 1;
    }
    WholeEnded { done, error: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: Guard = Guard { results: 2, first: 1, others: 2, epoch: 7 };

    /// A server's answer: results, and then an error.
    type Answer = (Vec<ResultSet>, Option<Error>);

    fn changed(rows: u64) -> ResultSet {
        ResultSet { affected: rows, ..ResultSet::default() }
    }

    fn epoch(number: u64) -> ResultSet {
        ResultSet { columns: vec!["epoch".into()], rows: vec![vec![Cell::Unsigned(number)]], affected: 0 }
    }

    fn run(texts: &[&[u8]], answers: Vec<Answer>) -> (Ended, Vec<String>) {
        let (mut sent, mut answers) = (Vec::new(), answers.into_iter());
        let ended = commit_each(texts, GUARD, |text, results| {
            sent.push(String::from_utf8_lossy(text).into_owned());
            let (sets, error) = answers.next().unwrap_or_default();
            results.extend(sets);
            error.map_or(Ok(()), Err)
        });
        (ended, sent)
    }

    fn lost() -> Error {
        Error::Lost("gone".into())
    }

    #[test]
    fn a_commit_goes_with_the_next_statements() {
        let first = (vec![changed(0), epoch(7), changed(0)], None);
        let second = (vec![changed(0), changed(0), epoch(7), changed(0)], None);
        let (ended, sent) = run(&[b"A", b"B"], vec![first, second, (vec![changed(0)], None)]);
        assert_eq!((ended.done, ended.committing), (2, false));
        assert_eq!(sent, ["A", "B", "COMMIT"]);
    }

    #[test]
    fn nothing_is_committed_without_the_epoch() {
        for guard in [changed(0), changed(1), epoch(8)] {
            let (ended, sent) = run(&[b"A", b"B"], vec![(vec![changed(0), guard, changed(0)], None)]);
            assert_eq!((ended.done, ended.committing, ended.error.is_none()), (0, false, true));
            assert_eq!(sent, ["A"]);
        }
    }

    #[test]
    fn nothing_is_committed_after_an_interrupted_text() {
        let (ended, sent) = run(&[b"A", b"B"], vec![(vec![changed(0), epoch(7)], None)]);
        assert_eq!((ended.done, ended.committing, ended.results.len()), (0, false, 1));
        assert_eq!(sent, ["A"]);
    }

    #[test]
    fn a_commit_without_an_answer_is_not_known() {
        let first = || (vec![changed(0), epoch(7), changed(0)], None);
        let (ended, _) = run(&[b"A", b"B"], vec![first(), (vec![], Some(lost()))]);
        assert_eq!((ended.done, ended.committing, ended.error.is_some()), (0, true, true));
        let (ended, _) = run(&[b"A"], vec![first(), (vec![], Some(lost()))]);
        assert_eq!((ended.done, ended.committing, ended.error.is_some()), (0, true, true));
    }

    #[test]
    fn an_error_behind_a_commit_is_the_next_ones() {
        let first = (vec![changed(0), epoch(7), changed(0)], None);
        let (ended, _) = run(&[b"A", b"B"], vec![first, (vec![changed(0), changed(0)], Some(lost()))]);
        assert_eq!((ended.done, ended.committing, ended.results.len()), (1, false, 0));
    }

    #[test]
    fn statements_are_made_and_run_one_by_one_up_to_one_that_fails_or_is_none() {
        let outcomes = [Ok(()), Err(lost()), Ok(())];
        for (made, expected, failed) in [(vec![true; 3], 1, true), (vec![true, false, true], 1, false)] {
            let mut outcomes = outcomes.iter();
            let mut sent = Vec::new();
            let texts = made.iter().enumerate().map(|(number, is)| is.then(|| vec![number as u8]));
            let ended = run_each(texts, |text, _| {
                sent.push(text.to_vec());
                outcomes.next().map_or(Ok(()), |outcome| outcome.as_ref().copied().map_err(|_| lost()))
            });
            assert_eq!((ended.done, ended.error.is_some()), (expected, failed));
            assert_eq!(sent.len(), expected + usize::from(failed));
        }
    }
}
