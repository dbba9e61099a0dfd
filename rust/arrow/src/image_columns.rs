//! Columns of Arrow that hold images of rows: maps from names to text, or structs of one table's columns.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, MapArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use paraply_binlog::rows::image_cursor::{Decoded, INCOMPLETE_ROW, Malformed};
use paraply_binlog::rows::values::value_text::{TableForm, write_value};
use paraply_core::value::Value;

/// Start of the zero timestamp.
const ABSENT: &[u8] = b"0000-";

/// A decoded image of a row: none marks a column that the image lacks.
pub type Image<'i, 'v> = &'i [Option<Value<'v>>];

/// A column of one table that was chosen with its types: its name, and true if it holds bytes.
pub type Wanted = (String, bool);

/// A column of images.
pub enum ImageColumn {
    Map(MapColumn),
    Struct(StructColumn),
}

impl ImageColumn {
    pub fn new(wanted: Option<&[Wanted]>) -> Self {
        match wanted {
            None => Self::Map(MapColumn::default()),
            Some(wanted) => Self::Struct(StructColumn::new(wanted)),
        }
    }

    /// Returns the column; if `whole`, a struct whose image lacks a value is an error.
    pub fn whole(mut self, whole: bool) -> Self {
        if let Self::Struct(column) = &mut self {
            column.whole = whole;
        }
        self
    }

    /// Returns the type of the column, which is the same for every batch of a stream.
    pub fn data_type(wanted: Option<&[Wanted]>) -> DataType {
        match wanted {
            None => DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries()), false)), false),
            Some(wanted) => DataType::Struct(fields(wanted)),
        }
    }

    pub fn append(&mut self, table: &TableForm, image: Image<'_, '_>, before: Option<Image<'_, '_>>) -> Decoded<()> {
        let all = 0..image.len();
        self.append_some(table, image, before, all)
    }

    /// Appends some columns of an image; columns that it lacks are left out.
    pub fn append_some(
        &mut self,
        table: &TableForm,
        image: Image<'_, '_>,
        before: Option<Image<'_, '_>>,
        columns: impl Iterator<Item = usize>,
    ) -> Decoded<()> {
        match self {
            Self::Map(map) => map.append(table, image, before, columns),
            Self::Struct(columns) => columns.append(table, image, before),
        }
    }

    pub fn append_null(&mut self) {
        match self {
            Self::Map(map) => map.end(false),
            Self::Struct(columns) => columns.append_null(),
        }
    }

    /// Returns the number of bytes held.
    pub fn size(&self) -> usize {
        match self {
            Self::Map(map) => map.keys.values_slice().len() + map.values.values_slice().len(),
            Self::Struct(columns) => columns.columns.iter().map(|column| column.builder.size()).sum(),
        }
    }

    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Map(map) => map.finish(),
            Self::Struct(columns) => columns.finish(),
        }
    }
}

fn entries() -> Fields {
    Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Utf8, true)])
}

fn fields(wanted: &[Wanted]) -> Fields {
    let kind = |binary: bool| if binary { DataType::Binary } else { DataType::Utf8 };
    wanted.iter().map(|(name, binary)| Field::new(name, kind(*binary), true)).collect()
}

/// A map from column names to values as text; NULL is a null value.
#[derive(Default)]
pub struct MapColumn {
    offsets: Vec<i32>,
    keys: StringBuilder,
    values: StringBuilder,
    present: Vec<bool>,
    text: Vec<u8>,
}

impl MapColumn {
    fn append(
        &mut self,
        table: &TableForm,
        image: Image<'_, '_>,
        before: Option<Image<'_, '_>>,
        columns: impl Iterator<Item = usize>,
    ) -> Decoded<()> {
        for index in columns {
            let (Some(Some(value)), Some(column)) = (image.get(index), table.columns.get(index)) else { continue };
            if value.is_null() {
                self.keys.append_value(&column.name);
                self.values.append_null();
                continue;
            }
            self.text.clear();
            let old = before.and_then(|before| before.get(index)).and_then(Option::as_ref);
            if write_value(&column.form, value, old, &mut self.text)? {
                self.keys.append_value(&column.name);
                append_text(&mut self.values, &self.text)?;
            }
        }
        self.end(true);
        Ok(())
    }

    fn end(&mut self, present: bool) {
        use arrow_array::builder::ArrayBuilder as _;
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.offsets.push(self.keys.len() as i32);
        self.present.push(present);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        let columns: Vec<ArrayRef> = vec![Arc::new(self.keys.finish()), Arc::new(self.values.finish())];
        let rows = StructArray::try_new(entries(), columns, None)?;
        let mut nulls = NullBufferBuilder::new(self.present.len());
        self.present.drain(..).for_each(|present| nulls.append(present));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(std::mem::take(&mut self.offsets)));
        let field = Arc::new(Field::new("entries", DataType::Struct(entries()), false));
        Ok(Arc::new(MapArray::try_new(field, offsets, rows, nulls.finish(), false)?))
    }
}

/// Appends a value, which is UTF-8 except for a JSON document of a damaged log.
fn append_text(column: &mut StringBuilder, text: &[u8]) -> Decoded<()> {
    let text = std::str::from_utf8(text).map_err(|_| Malformed { what: "a JSON document that is not UTF-8", at: 0 })?;
    column.append_value(text);
    Ok(())
}

enum ValueBuilder {
    Text(StringBuilder),
    Binary(BinaryBuilder),
}

impl ValueBuilder {
    fn append_null(&mut self) {
        match self {
            Self::Text(column) => column.append_null(),
            Self::Binary(column) => column.append_null(),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Text(column) => column.values_slice().len(),
            Self::Binary(column) => column.values_slice().len(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(column.finish()),
            Self::Binary(column) => Arc::new(column.finish()),
        }
    }
}

struct TypedColumn {
    name: String,
    builder: ValueBuilder,
}

/// One table's columns, one field each; a column that the image lacks is null.
pub struct StructColumn {
    columns: Vec<TypedColumn>,
    fields: Fields,
    /// For the last table: the index of each column in its images.
    places: (u64, Vec<Option<usize>>),
    present: Vec<bool>,
    text: Vec<u8>,
    whole: bool,
}

impl StructColumn {
    fn new(wanted: &[Wanted]) -> Self {
        let column = |(name, binary): &Wanted| TypedColumn {
            name: name.clone(),
            builder: if *binary {
                ValueBuilder::Binary(BinaryBuilder::new())
            } else {
                ValueBuilder::Text(StringBuilder::new())
            },
        };
        Self {
            columns: wanted.iter().map(column).collect(),
            fields: fields(wanted),
            places: (0, Vec::new()),
            present: Vec::new(),
            text: Vec::new(),
            whole: false,
        }
    }

    fn append(&mut self, table: &TableForm, image: Image<'_, '_>, before: Option<Image<'_, '_>>) -> Decoded<()> {
        self.find(table);
        for (column, place) in self.columns.iter_mut().zip(&self.places.1) {
            let value = place.and_then(|place| image.get(place).copied().flatten());
            let form = place.and_then(|place| table.columns.get(place)).map(|column| &column.form);
            if self.whole && (value.is_none() || form.is_none()) {
                return Err(Malformed { what: INCOMPLETE_ROW, at: 0 });
            }
            let (Some(value), Some(form)) = (value.filter(|value| !value.is_null()), form) else {
                column.builder.append_null();
                continue;
            };
            self.text.clear();
            let old = before.zip(*place).and_then(|(before, place)| before.get(place)).and_then(Option::as_ref);
            match (&mut column.builder, form.bytes(&value)?) {
                (ValueBuilder::Binary(column), Some((bytes, padding))) => {
                    self.text.extend_from_slice(&bytes);
                    self.text.resize(bytes.len() + padding, 0);
                    column.append_value(&self.text);
                }
                (builder, _) => {
                    let told = write_value(form, &value, old, &mut self.text)?;
                    if self.whole && !told {
                        return Err(Malformed { what: INCOMPLETE_ROW, at: 0 });
                    }
                    if matches!(value, Value::Timestamp { .. }) {
                        self.text.push(b'Z'); // otherwise it is read as a time without a zone
                    }
                    match builder {
                        builder if !told || no_date(&value, &self.text) => builder.append_null(),
                        ValueBuilder::Text(column) => append_text(column, &self.text)?,
                        ValueBuilder::Binary(column) => column.append_value(&self.text),
                    }
                }
            }
        }
        self.present.push(true);
        Ok(())
    }

    fn find(&mut self, table: &TableForm) {
        if self.places.0 != table.fingerprint || self.places.1.len() != self.columns.len() {
            let place = |column: &TypedColumn| {
                table.columns.iter().position(|form| form.name.eq_ignore_ascii_case(&column.name))
            };
            self.places = (table.fingerprint, self.columns.iter().map(place).collect());
        }
    }

    /// Returns the chosen columns that a table does not have.
    pub fn lacking(&mut self, table: &TableForm) -> impl Iterator<Item = &str> {
        self.find(table);
        let places = self.columns.iter().zip(&self.places.1);
        places.filter(|(_, place)| place.is_none()).map(|(column, _)| column.name.as_str())
    }

    fn append_null(&mut self) {
        self.columns.iter_mut().for_each(|column| column.builder.append_null());
        self.present.push(false);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let mut nulls = NullBufferBuilder::new(self.present.len());
        let rows = self.present.len();
        self.present.drain(..).for_each(|present| nulls.append(present));
        let columns = self.columns.iter_mut().map(|column| column.builder.finish()).collect();
        let made = StructArray::try_new_with_length(self.fields.clone(), columns, nulls.finish(), rows)?;
        debug_assert_eq!(made.len(), rows);
        Ok(Arc::new(made))
    }
}

/// Returns true for a date with a zero part, which no date type outside of the server can hold.
fn no_date(value: &Value<'_>, text: &[u8]) -> bool {
    match value {
        Value::Date { month, day, .. } | Value::DateTime { month, day, .. } => *month == 0 || *day == 0,
        Value::Timestamp { .. } => text.starts_with(ABSENT),
        _ => false,
    }
}
