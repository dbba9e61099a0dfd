//! Expressions over integers, computed as a server's `longlong` arithmetic does.

use crate::schema::Column;
use crate::value::Value;

/// An expression that can be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    /// NULL.
    Null,
    /// A whole number.
    Literal(i64),
    /// Another column's value; an integer unless `integer` is false.
    Column { index: usize, integer: bool },
    /// `-a`
    Negative(Box<Expression>),
    /// `a + b` and the like.
    Operation(Operator, Box<Expression>, Box<Expression>),
    /// The first value that is not NULL: IFNULL and COALESCE.
    First(Vec<Expression>),
    /// One value or the other: IF and CASE.
    Choice(Box<Condition>, Box<Expression>, Box<Expression>),
}

/// An operator between integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Plus,
    Minus,
    Times,
    Modulo,
}

/// A condition; one that is NULL counts as false.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    /// `column IS NULL`, or IS NOT NULL.
    IsNull { column: usize, negated: bool },
    /// `a < b` and the like.
    Compare(Comparison, Expression, Expression),
}

/// A comparison of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Value of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Null,
    /// `unsigned` if the server computes with it as BIGINT UNSIGNED.
    Integer {
        value: i128,
        unsigned: bool,
    },
}

impl Number {
    /// Returns a value that every server and `sql_mode` computes alike; none for others.
    fn checked(value: i128, unsigned: bool) -> Option<Self> {
        // A negative result of unsigned operands is an error or not, by sql_mode; above the signed range the type decides.
        let least = if unsigned { 0 } else { i128::from(i64::MIN) };
        (value >= least && value <= i128::from(i64::MAX)).then_some(Self::Integer { value, unsigned })
    }
}

impl Expression {
    /// Returns true if the expression yields an integer or NULL.
    pub(super) fn is_integer(&self) -> bool {
        !matches!(self, Self::Column { integer: false, .. })
    }

    /// Adds the columns that it reads.
    pub(super) fn add_columns(&self, columns: &mut Vec<usize>) {
        let mut add = |index: usize| {
            if !columns.contains(&index) {
                columns.push(index);
            }
        };
        match self {
            Self::Null | Self::Literal(_) => {}
            Self::Column { index, .. } => add(*index),
            Self::Negative(inner) => inner.add_columns(columns),
            Self::Operation(_, left, right) => {
                left.add_columns(columns);
                right.add_columns(columns);
            }
            Self::First(all) => all.iter().for_each(|one| one.add_columns(columns)),
            Self::Choice(condition, yes, no) => {
                match &**condition {
                    Condition::IsNull { column, .. } => add(*column),
                    Condition::Compare(_, left, right) => {
                        left.add_columns(columns);
                        right.add_columns(columns);
                    }
                }
                yes.add_columns(columns);
                no.add_columns(columns);
            }
        }
    }

    /// Returns the value; none if a column's is not known, or versions or modes might compute it differently.
    pub(super) fn value<'v>(&self, value_of: &impl Fn(usize) -> Option<Value<'v>>) -> Option<Number> {
        match self {
            Self::Null => Some(Number::Null),
            Self::Literal(value) => Some(Number::Integer { value: i128::from(*value), unsigned: false }),
            Self::Column { index, .. } => match value_of(*index)? {
                Value::Null => Some(Number::Null),
                Value::Int(value) => Some(Number::Integer { value: i128::from(value), unsigned: false }),
                Value::UInt(value) => Some(Number::Integer { value: i128::from(value), unsigned: true }),
                _ => None,
            },
            Self::Negative(inner) => match inner.value(value_of)? {
                Number::Integer { unsigned: true, .. } => None,
                Number::Integer { value, .. } => Number::checked(-value, false),
                Number::Null => Some(Number::Null),
            },
            Self::Operation(operator, left, right) => operate(*operator, left.value(value_of)?, right.value(value_of)?),
            Self::First(all) => {
                // All of the values: the type of the result depends on each.
                let values = all.iter().map(|one| one.value(value_of)).collect::<Option<Vec<_>>>()?;
                let first = values.iter().copied().find(|one| *one != Number::Null);
                alike(&values).then(|| first.unwrap_or(Number::Null))
            }
            Self::Choice(condition, yes, no) => {
                let chosen = if condition.holds(value_of)? { yes } else { no };
                let values = [yes.value(value_of)?, no.value(value_of)?];
                let value = chosen.value(value_of)?;
                alike(&values).then_some(value)
            }
        }
    }
}

/// Returns true if the values have types of one sign, or are so small that it makes no difference.
fn alike(values: &[Number]) -> bool {
    let small = |one: &Number| match one {
        Number::Null => true,
        Number::Integer { value, .. } => *value >= 0 && *value <= i128::from(i64::MAX),
    };
    let signed = |one: &Number| matches!(one, Number::Null | Number::Integer { unsigned: false, .. });
    values.iter().all(small) || values.iter().all(signed)
}

fn operate(operator: Operator, left: Number, right: Number) -> Option<Number> {
    let (Number::Integer { value: a, unsigned: u }, Number::Integer { value: b, unsigned: v }) = (left, right) else {
        return Some(Number::Null);
    };
    let unsigned = u || v;
    match operator {
        Operator::Plus => Number::checked(a + b, unsigned),
        Operator::Minus => Number::checked(a - b, unsigned),
        Operator::Times => Number::checked(a.checked_mul(b)?, unsigned),
        Operator::Modulo if b == 0 => None,
        Operator::Modulo if unsigned && (a < 0 || b < 0) => None,
        Operator::Modulo => Number::checked(a % b, u),
    }
}

impl Condition {
    /// Returns true if the condition holds; none if that is not known.
    fn holds<'v>(&self, value_of: &impl Fn(usize) -> Option<Value<'v>>) -> Option<bool> {
        match self {
            Self::IsNull { column, negated } => Some((value_of(*column)? == Value::Null) != *negated),
            Self::Compare(comparison, left, right) => {
                let (Number::Integer { value: a, .. }, Number::Integer { value: b, .. }) =
                    (left.value(value_of)?, right.value(value_of)?)
                else {
                    return Some(false);
                };
                Some(match comparison {
                    Comparison::Equal => a == b,
                    Comparison::NotEqual => a != b,
                    Comparison::Less => a < b,
                    Comparison::LessOrEqual => a <= b,
                    Comparison::Greater => a > b,
                    Comparison::GreaterOrEqual => a >= b,
                })
            }
        }
    }
}

/// Returns the least and the greatest value of an integer column; none for other types.
pub(super) fn integer_range(column: &Column) -> Option<(i128, i128)> {
    let bits = match column.data_type.as_str() {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" => 32,
        "bigint" => 64,
        _ => return None,
    };
    Some(if column.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) })
}
