//! Offsets of the values in a row event, for changing them where they are.

use super::{RowsEvent, count_bits};
use crate::rows::image_cursor::{Cursor, Decoded};
use crate::rows::table_map::bit_is_set;
use crate::transaction::RowsKind;

impl RowsEvent<'_> {
    /// Visits the values of all images: the column, and the offset of the value in the event; NULL has none.
    ///
    /// # Errors
    ///
    /// The rows are malformed, or hold differences of JSON documents.
    pub fn visit_values(&self, mut visit: impl FnMut(usize, usize)) -> Decoded<()> {
        let mut cursor = Cursor::new(self.event, self.rows_at);
        if self.header.kind == RowsKind::PartialUpdate {
            return Err(cursor.malformed("differences of JSON documents where whole rows were expected"));
        }
        while !cursor.is_at_end() {
            let start = cursor.position();
            for present in [self.before, self.after].into_iter().flatten() {
                self.visit_image(&mut cursor, present, &mut visit)?;
            }
            if cursor.position() == start {
                return Err(cursor.malformed("rows without any column"));
            }
        }
        Ok(())
    }

    fn visit_image(
        &self,
        cursor: &mut Cursor<'_>,
        present: &[u8],
        visit: &mut impl FnMut(usize, usize),
    ) -> Decoded<()> {
        let columns = &self.table.columns;
        let null_bits = cursor.take(count_bits(present, columns.len()).div_ceil(8))?;
        let mut null_bit = 0;
        for (index, mapped) in columns.iter().enumerate() {
            if !bit_is_set(present, index) {
                continue;
            }
            let is_null = bit_is_set(null_bits, null_bit);
            null_bit += 1;
            if is_null {
                continue;
            }
            visit(index, cursor.position());
            mapped.layout.skip(cursor)?;
        }
        Ok(())
    }
}
