//! Changes in statement format: refused, or passed over where an apply does not need them (rule R27).

use std::sync::Arc;

use super::{Assembler, Failure, Taken};
use crate::event::query::QueryEvent;
use crate::event::{Event, refusal, types};
use crate::read::piece::Place;
use crate::transaction::Kind;

impl Assembler {
    /// Takes the text of a change in statement format, or of an unknown statement; returns the transaction that it ends.
    pub(super) fn statement_format(&mut self, event: &Event<'_>, query: &QueryEvent<'_>, word: &str) -> Taken {
        let Some(group) = &mut self.open else { return Ok(None) };
        group.before_text = None;
        if self.passed_over.holds(&group.transaction) {
            if !refusal::changes_rows(word) {
                // It may have changed definitions.
                group.transaction.statements.push(query.statement(event.header.timestamp, event.offset)?);
            }
        } else if self.passed_over.leaves_out(query)? {
            group.left_out = true;
        } else if event.header.type_code == types::EXECUTE_LOAD_QUERY {
            return Err(refusal::event_type(event.header.type_code).into());
        } else {
            return Err(refusal::statement(word, event.format.mariadb).into());
        }
        if group.begun && !group.standalone {
            return Ok(None);
        }
        group.begun = true;
        self.end(event, Kind::Empty)
    }

    /// Notes an event before the text of a change in statement format. The text shows whether the change is refused.
    pub(super) fn before_text(&mut self, event: &Event<'_>, name: &Arc<str>, file: u32) -> Result<(), Failure> {
        let fault = refusal::event_type(event.header.type_code);
        let Some(group) = &mut self.open else {
            let held = self.passed_over.holds_place(Place { file, offset: event.offset });
            return if held { Ok(()) } else { Err(fault.into()) };
        };
        if !self.passed_over.holds(&group.transaction) {
            group.before_text.get_or_insert_with(|| Box::new(fault.at(name, event.offset)));
        }
        Ok(())
    }

    /// Returns the error of events without the text that should follow them.
    pub(super) fn check_before_text(&mut self) -> Result<(), Failure> {
        let error = self.open.as_mut().and_then(|group| group.before_text.take());
        error.map_or(Ok(()), |error| Err(Failure::Error(error)))
    }
}
