//! Partial JSON updates without the document before them, as expressions on the stored document.
//!
//! With `binlog_row_image=MINIMAL` and `binlog_row_value_options=PARTIAL_JSON` the log holds only the differences.

use paraply_binlog::rows::values::json::{Difference, Json, Leg, Operation, differences};

use super::error::NotStorable;
use super::json::{damaged, utf8};
use super::literal::{json_text, quoted};

/// The new value of a column, and what must be true of the stored one.
#[derive(Debug, PartialEq, Eq)]
pub struct Patch {
    /// The value, as SQL.
    pub value: Vec<u8>,
    /// Conditions, as SQL. Each ensures that one difference fits the document: `jsonb_set` and `#-` do nothing otherwise.
    pub conditions: Vec<Vec<u8>>,
}

/// Returns the value of a column after a sequence of differences; none if there are no differences.
///
/// # Errors
/// [`NotStorable`] if a difference is damaged, or holds a NUL character.
pub fn patch(column: &str, bytes: &[u8]) -> Result<Option<Patch>, NotStorable> {
    let found = differences(bytes).map_err(|error| damaged(&error))?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut patch = Patch { value: column.as_bytes().to_vec(), conditions: Vec::new() };
    for difference in &found {
        apply(&mut patch, difference)?;
    }
    Ok(Some(patch))
}

fn apply(patch: &mut Patch, difference: &Difference<'_>) -> Result<(), NotStorable> {
    let legs = difference.legs().map_err(|error| damaged(&error))?;
    let Some((last, parents)) = legs.split_last() else {
        patch.value = document(&difference.value)?;
        return Ok(());
    };
    let before = std::mem::take(&mut patch.value);
    let place = array_of(&legs)?;
    let found = [b"(", before.as_slice(), b" #> ", &place, b") IS NOT NULL"].concat();
    match difference.operation {
        Operation::Replace => {
            let value = document(&difference.value)?;
            patch.value = [b"jsonb_set(", before.as_slice(), b",", &place, b",", &value, b",false)"].concat();
            patch.conditions.push(found);
        }
        Operation::Insert => {
            let value = document(&difference.value)?;
            let kind: &[u8] = if matches!(last, Leg::Member(_)) { b"'object'" } else { b"'array'" };
            let parent = array_of(parents)?;
            patch.conditions.push([b"jsonb_typeof(", before.as_slice(), b" #> ", &parent, b")=", kind].concat());
            patch.value = [b"jsonb_insert(", before.as_slice(), b",", &place, b",", &value, b")"].concat();
        }
        Operation::Remove => {
            patch.value = [b"(", before.as_slice(), b" #- ", &place, b")"].concat();
            patch.conditions.push(found);
        }
    }
    Ok(())
}

fn document(value: &Json<'_>) -> Result<Vec<u8>, NotStorable> {
    let mut text = Vec::new();
    value.write_text(&mut text).map_err(|error| damaged(&error))?;
    let mut sql = Vec::with_capacity(text.len() + 16);
    json_text(&mut sql, &utf8(text)?)?;
    sql.extend_from_slice(b"::jsonb");
    Ok(sql)
}

/// Returns a path as an array of texts; an index from the end is negative.
fn array_of(legs: &[Leg<'_>]) -> Result<Vec<u8>, NotStorable> {
    let mut sql = b"ARRAY[".to_vec();
    for (n, leg) in legs.iter().enumerate() {
        if n > 0 {
            sql.push(b',');
        }
        let text = match leg {
            Leg::Member(name) => name.to_string(),
            Leg::Cell(index) => index.to_string(),
            Leg::FromEnd(behind) => format!("-{}", behind + 1),
        };
        if text.contains('\0') {
            return Err(NotStorable::new("a JSON string with a NUL character"));
        }
        quoted(&mut sql, text.as_bytes());
    }
    sql.extend_from_slice(b"]::text[]");
    Ok(sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(operation: u8, path: &str, document: &[u8]) -> Vec<u8> {
        let mut out = vec![operation, u8::try_from(path.len()).unwrap()];
        out.extend_from_slice(path.as_bytes());
        if operation != 2 {
            out.push(u8::try_from(document.len()).unwrap());
            out.extend_from_slice(document);
        }
        out
    }

    fn sql(bytes: &[u8]) -> (String, Vec<String>) {
        let patch = patch("\"j\"", bytes).unwrap().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(patch.value), patch.conditions.into_iter().map(text).collect())
    }

    const SEVEN: &[u8] = &[5, 7, 0];

    #[test]
    fn no_difference_is_no_change() {
        assert_eq!(patch("\"j\"", b""), Ok(None));
    }

    #[test]
    fn each_difference_is_a_function_of_the_document_before_it() {
        let bytes = [difference(0, "$.a[1]", SEVEN), difference(2, "$[last-1].\"it's\"", b"")].concat();
        let (value, conditions) = sql(&bytes);
        let first = r#"jsonb_set("j",ARRAY['a','1']::text[],'7'::jsonb,false)"#;
        assert_eq!(value, format!("({first} #- ARRAY['-2','it''s']::text[])"));
        let found = r#"("j" #> ARRAY['a','1']::text[]) IS NOT NULL"#.to_owned();
        assert_eq!(conditions, [found, format!("({first} #> ARRAY['-2','it''s']::text[]) IS NOT NULL")]);
    }

    #[test]
    fn an_insertion_needs_its_parent() {
        let (value, conditions) = sql(&difference(1, "$.a", SEVEN));
        assert_eq!(value, r#"jsonb_insert("j",ARRAY['a']::text[],'7'::jsonb)"#);
        assert_eq!(conditions, [r#"jsonb_typeof("j" #> ARRAY[]::text[])='object'"#]);
        assert!(sql(&difference(1, "$[0]", SEVEN)).1[0].ends_with("='array'"));
    }

    #[test]
    fn the_whole_document_may_be_replaced() {
        assert_eq!(sql(&difference(0, "$", SEVEN)).0, "'7'::jsonb");
    }

    #[test]
    fn damage_is_an_error() {
        assert!(patch("\"j\"", &[9]).is_err());
        assert!(patch("\"j\"", &difference(0, "nothing", SEVEN)).is_err());
    }
}
