//! The row that a statement is about, and a row's values.

use paraply_core::value::Value;

use super::error::{NotStorable, RenderError};
use super::literal::write_literal;
use super::mapping::{ColumnMapping, Kind, TableMapping};

/// The values of a row image by column; none where the image does not hold the column.
pub type Image<'r, 'v> = &'r [Option<Value<'v>>];

/// Returns the first key whose columns the image holds and none of which is NULL.
pub(super) fn usable_key<'t>(table: &'t TableMapping, image: Image<'_, '_>) -> Option<&'t [usize]> {
    let held = |&i: &usize| matches!(image.get(i), Some(Some(value)) if !value.is_null());
    table.keys.iter().find(|key| key.iter().all(held)).map(Vec::as_slice)
}

/// Returns the values of a key's columns; [`usable_key`] made sure that they exist.
pub(super) fn key_values<'r, 'v, 't>(
    table: &'t TableMapping,
    key: &'t [usize],
    image: Image<'r, 'v>,
) -> impl Iterator<Item = (&'t ColumnMapping, &'r Value<'v>)> + use<'r, 'v, 't> {
    key.iter().filter_map(move |&i| Some((table.columns.get(i)?, image.get(i)?.as_ref()?)))
}

pub(super) fn write_key(
    out: &mut Vec<u8>,
    table: &TableMapping,
    key: &[usize],
    image: Image<'_, '_>,
) -> Result<(), RenderError> {
    let row = key.len() > 1;
    for (n, (column, value)) in key_values(table, key, image).enumerate() {
        if row || n > 0 {
            out.push(if n == 0 { b'(' } else { b',' });
        }
        write_value(out, table, column, value, image)?;
    }
    if row {
        out.push(b')');
    }
    Ok(())
}

pub(super) fn where_key(
    out: &mut Vec<u8>,
    table: &TableMapping,
    key: &[usize],
    image: Image<'_, '_>,
) -> Result<(), RenderError> {
    for (n, (column, value)) in key_values(table, key, image).enumerate() {
        out.extend_from_slice(if n == 0 { b" WHERE " } else { b" AND " });
        out.extend_from_slice(column.quoted().as_bytes());
        out.push(b'=');
        write_value(out, table, column, value, image)?;
    }
    Ok(())
}

/// Appends a condition for any one of the rows that equal the whole image: a table without a key may hold several.
pub(super) fn where_row(out: &mut Vec<u8>, table: &TableMapping, image: Image<'_, '_>) -> Result<(), RenderError> {
    out.extend_from_slice(format!(" WHERE ctid=(SELECT ctid FROM {} WHERE ", table.target()).as_bytes());
    // The value of a generated column follows from the others.
    let told = table.columns.iter().zip(image).filter(|(column, value)| !column.generated || value.is_some());
    for (n, (column, value)) in told.enumerate() {
        let value = value.as_ref().ok_or_else(|| RenderError::NoKey { table: table.source.clone() })?;
        if n > 0 {
            out.extend_from_slice(b" AND ");
        }
        write_same(out, table, column, value, image)?;
    }
    out.extend_from_slice(b" LIMIT 1 FOR UPDATE)");
    Ok(())
}

/// Appends the condition that a column holds exactly this value, NULL included.
///
/// Documents and floating-point numbers are compared as text, because values that the target calls equal differ there
/// (1 and 1.0 in a document, 0 and -0).
pub(super) fn write_same(
    out: &mut Vec<u8>,
    table: &TableMapping,
    column: &ColumnMapping,
    value: &Value<'_>,
    image: Image<'_, '_>,
) -> Result<(), RenderError> {
    out.extend_from_slice(column.quoted().as_bytes());
    match text_type(column) {
        _ if value.is_null() => out.extend_from_slice(b" IS NULL"),
        Some(target_type) => {
            out.extend_from_slice(b"::text=(");
            write_value(out, table, column, value, image)?;
            out.extend_from_slice(format!("::{target_type})::text").as_bytes());
        }
        None => {
            out.extend_from_slice(b" IS NOT DISTINCT FROM ");
            write_value(out, table, column, value, image)?;
        }
    }
    Ok(())
}

/// Returns the type of a column whose values are compared as text.
pub(super) fn text_type(column: &ColumnMapping) -> Option<&'static str> {
    match column.kind {
        Kind::Json => Some("jsonb"),
        Kind::Real => Some("real"),
        Kind::Double => Some("double precision"),
        _ => None,
    }
}

/// Returns true if the values of a column are compared as text.
pub(super) fn is_compared_as_text(column: &ColumnMapping) -> bool {
    text_type(column).is_some()
}

pub(super) fn write_value(
    out: &mut Vec<u8>,
    table: &TableMapping,
    column: &ColumnMapping,
    value: &Value<'_>,
    image: Image<'_, '_>,
) -> Result<(), RenderError> {
    write_literal(out, &column.kind, value).map_err(|reason| not_storable(table, column, image, reason))
}

pub(super) fn not_storable(
    table: &TableMapping,
    column: &ColumnMapping,
    image: Image<'_, '_>,
    reason: NotStorable,
) -> RenderError {
    RenderError::NotStorable {
        table: table.source.clone(),
        column: column.name.clone(),
        key: key_text(table, image),
        reason,
    }
}

/// Returns the row's key for an error message, if it can be written at all.
pub(super) fn key_text(table: &TableMapping, image: Image<'_, '_>) -> Option<String> {
    let key = usable_key(table, image)?;
    let mut text = Vec::new();
    for (n, (column, value)) in key_values(table, key, image).enumerate() {
        if n > 0 {
            text.push(b',');
        }
        write_literal(&mut text, &column.kind, value).ok()?;
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}
