//! The values of generated columns, where their expressions are understood exactly.
//!
//! `MariaDB` from 11.x on leaves generated columns out of the images of UPDATE and DELETE, whatever `binlog_row_image`
//! is, and out of the second half of a REPLACE. The value of such a column has then to be computed from the others.
//! That is done for integers only, and for a plain copy of another column: there every version, `sql_mode` and session
//! computes the same.

mod expression;
mod parse;

use crate::schema::{Column, Table};
use crate::value::Value;
use expression::{Expression, Number, integer_range};

/// Computation of one generated column from the other columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    column: usize,
    form: Form,
    sources: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// The value of another column of the same type.
    Copy(usize),
    /// An integer, stored in a column with this range.
    Integer { expression: Expression, least: i128, most: i128, unsigned: bool },
}

impl Computed {
    /// Returns the computation of a column; none if it is not generated or its expression is not understood.
    pub fn of(table: &Table, index: usize) -> Option<Self> {
        let column = table.columns.get(index)?;
        let expression = parse::parse(column.generated.as_deref()?, table)?;
        let mut sources = Vec::new();
        expression.add_columns(&mut sources);
        // An expression that reads its own column, or a later one, is not evaluated as the server does.
        if sources
            .iter()
            .any(|source| table.columns.get(*source).is_none_or(|other| !may_be_read(other, *source, index)))
        {
            return None;
        }
        let form = match (integer_range(column), &expression) {
            (Some((least, most)), _) => Form::Integer { expression, least, most, unsigned: column.unsigned },
            (None, Expression::Column { index: source, .. }) => {
                Form::Copy(*source).for_columns(column, table.columns.get(*source)?)?
            }
            (None, _) => return None,
        };
        Some(Self { column: index, form, sources })
    }

    /// Returns the generated column's index.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the columns that the value depends on.
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// Returns the column's value, computed from the others; none if one of them is not known or the server might have
    /// computed another.
    pub fn value<'v>(&self, value_of: impl Fn(usize) -> Option<Value<'v>>) -> Option<Value<'v>> {
        let (expression, least, most, unsigned) = match &self.form {
            Form::Copy(source) => return value_of(*source),
            Form::Integer { expression, least, most, unsigned } => (expression, *least, *most, *unsigned),
        };
        match expression.value(&value_of)? {
            Number::Null => Some(Value::Null),
            Number::Integer { value, .. } if value < least || value > most => None,
            Number::Integer { value, .. } if unsigned => u64::try_from(value).ok().map(Value::UInt),
            Number::Integer { value, .. } => i64::try_from(value).ok().map(Value::Int),
        }
    }
}

impl Form {
    /// Returns the copy if the column that it copies is stored unchanged.
    fn for_columns(self, to: &Column, from: &Column) -> Option<Self> {
        let is_text =
            matches!(to.data_type.as_str(), "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext");
        let same = to.data_type == from.data_type && to.length == from.length && to.collation == from.collation;
        (is_text && same && to.collation.is_some()).then_some(self)
    }
}

/// Returns true if the expression of the generated column `index` may read this column.
fn may_be_read(other: &Column, source: usize, index: usize) -> bool {
    source != index && (other.generated.is_none() || source < index)
}

#[cfg(test)]
mod tests;
