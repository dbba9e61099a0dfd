//! Row changes as Arrow record batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::image_cursor::Decoded;
use paraply_binlog::rows::known_tables::KnownTables;
use paraply_binlog::rows::row_walk::{RowPlan, RowsError, count_event, event_bytes};
use paraply_binlog::rows::values::value_text::TableForm;
use paraply_binlog::rows::{Row, RowBuffer, RowsEvent, RowsHeader};
use paraply_binlog::transaction::{RawEvent, RowsKind, Transaction};
use paraply_core::schema::Catalog;
use paraply_core::value::Value;

use crate::batch::{Batch, file_name, gtid_text};
use crate::error::Error;
use crate::image_columns::{ImageColumn, Wanted};

/// Bytes of images, or number of rows, at which a record batch is full.
const FULL_BYTES: usize = 16 << 20;
const FULL_ROWS: usize = 65_536;
/// Indices of columns in the schema.
const WIDTH: usize = 17;
const NUMBERS: [usize; 6] = [0, 3, 4, 8, 13, 14];
const TEXTS: [usize; 6] = [1, 5, 6, 7, 12, 15];
const COMMITTED_AT: usize = 2;
const KEY: usize = 9;
const BEFORE: usize = 10;
const AFTER: usize = 11;
const ABSENT: usize = 16;

/// Return the schema of rows; with columns the images are structs of these.
pub fn schema(wanted: Option<&[Wanted]>) -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let image = || ImageColumn::data_type(wanted);
    Arc::new(Schema::new(vec![
        Field::new("position", DataType::Int64, false),
        Field::new("gtid", DataType::Utf8, false),
        Field::new("committed_at", time, true),
        Field::new("server_id", DataType::Int64, false),
        Field::new("session", DataType::Int64, true),
        Field::new("database", DataType::Utf8, false),
        Field::new("table", DataType::Utf8, false),
        Field::new("operation", DataType::Utf8, false),
        Field::new("row", DataType::Int64, false),
        Field::new("key", ImageColumn::data_type(None), true),
        Field::new("before", image(), true),
        Field::new("after", image(), true),
        Field::new("file", DataType::Utf8, false),
        Field::new("offset", DataType::Int64, false),
        Field::new("transaction_offset", DataType::Int64, false),
        Field::new("xid", DataType::Utf8, true),
        Field::new("absent", DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))), false),
    ]))
}

/// Decodes the rows of batches of transactions.
pub struct RowDecoder {
    known: KnownTables,
    plan: RowPlan,
    /// By the index of the known table.
    forms: HashMap<usize, Arc<TableForm>>,
    /// The version of the catalog of these forms.
    version: u64,
    tables: TableFilter,
    operations: Option<Vec<String>>,
    schema: SchemaRef,
    places: Vec<usize>,
    values: Option<Vec<Wanted>>,
    /// True if an after image that lacks a value is an error.
    whole: bool,
    open: Option<(Source, Progress)>,
}

/// Transactions that are decoded, with the definitions valid before them.
struct Source {
    batch: Batch,
    catalog: Arc<Catalog>,
}

/// Position of decoding.
#[derive(Default)]
struct Progress {
    transaction: usize,
    /// The next row event of the transaction, whose plan is made when this is 0.
    event: usize,
    /// Rows of the transaction so far.
    row: i64,
}

impl RowDecoder {
    /// Make a decoder that gives these columns of [`schema`].
    ///
    /// # Arguments
    ///
    /// * `columns`: names of columns, in the order in which they are given.
    /// * `tables`: tables whose rows are given; all where the filter is empty.
    /// * `operations`: operations whose rows are given; all where there are none.
    /// * `values`: columns of one table, for images that are structs of these.
    /// * `whole`: true to refuse an after image that lacks one of these columns, where it would be null.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for a column that the schema lacks.
    pub fn new(
        columns: &[String],
        tables: TableFilter,
        operations: Option<Vec<String>>,
        values: Option<Vec<Wanted>>,
        whole: bool,
    ) -> Result<Self, Error> {
        let schema = schema(values.as_deref());
        let places: Result<Vec<usize>, _> = columns.iter().map(|name| schema.index_of(name)).collect();
        let places = places.map_err(|error| Error::usage(error.to_string()))?;
        Ok(Self {
            known: KnownTables::default(),
            plan: RowPlan::default(),
            forms: HashMap::new(),
            version: 0,
            tables,
            operations,
            schema,
            places,
            values,
            whole,
            open: None,
        })
    }

    /// Begin the next transactions, under the definitions that held before them; [`Self::next_batch`] gives their rows.
    pub fn begin(&mut self, batch: Batch, catalog: Arc<Catalog>) {
        self.open = Some((Source { batch, catalog }, Progress::default()));
    }

    /// Return the next rows of these transactions; none behind the last one.
    ///
    /// # Errors
    ///
    /// [`Error::Log`] for a damaged row event.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        let Some((source, mut at)) = self.open.take() else { return Ok(None) };
        let mut columns = Columns::new(&self.places, self.values.as_deref(), self.whole);
        while let Some(transaction) = source.batch.transactions.get(at.transaction) {
            if source.batch.wanted.get(at.transaction) == Some(&true) {
                let added = self
                    .add(transaction, &source, &mut at, &mut columns)
                    .map_err(|error| source.batch.error(&error, transaction))?;
                if !added {
                    self.open = Some((source, at));
                    break;
                }
            }
            at = Progress { transaction: at.transaction + 1, ..Progress::default() };
        }
        if columns.rows == 0 {
            return Ok(None);
        }
        columns.finish(&self.schema, &self.places).map(Some).map_err(Error::from)
    }

    /// Adds the rows of a transaction; returns false where the batch was full before its end.
    fn add(
        &mut self,
        transaction: &Transaction,
        source: &Source,
        at: &mut Progress,
        columns: &mut Columns,
    ) -> Result<bool, RowsError> {
        if at.event == 0 {
            if self.version != source.catalog.version() {
                self.forms.clear();
                self.version = source.catalog.version();
            }
            self.plan.prepare(transaction, &source.catalog, &mut self.known)?;
        }
        let head = Head {
            position: source.batch.positions.get(at.transaction).copied().unwrap_or_default(),
            gtid: gtid_text(transaction).unwrap_or_default(),
            file: file_name(&source.batch.files, transaction.file),
            transaction,
        };
        while at.event < self.plan.len() {
            if columns.is_full() {
                return Ok(false);
            }
            self.add_event(&head, at, columns)?;
            at.event += 1;
        }
        Ok(true)
    }

    fn add_event(&mut self, head: &Head<'_>, at: &mut Progress, columns: &mut Columns) -> Result<(), RowsError> {
        let transaction = head.transaction;
        let Some((event, index, table)) = self.plan.event(at.event, transaction, &self.known) else { return Ok(()) };
        let place = |malformed| RowsError::new(transaction, event, malformed);
        let fingerprint = table.map.fingerprint();
        let form = if let Some(form) = self.forms.get(&index).filter(|form| form.fingerprint == fingerprint) {
            Arc::clone(form)
        } else {
            let form = Arc::new(TableForm::of(table, transaction.format.mariadb));
            self.forms.insert(index, Arc::clone(&form));
            form
        };
        let bytes = event_bytes(transaction, event).map_err(place)?;
        let header = RowsHeader::parse(bytes, &transaction.format).map_err(place)?;
        let operation = operation(header.kind);
        let rows = RowsEvent::with_header(header, bytes, &table.map).map_err(place)?;
        let asked = self.operations.as_ref().is_none_or(|asked| asked.iter().any(|name| name == operation));
        if !asked || !self.tables.chooses(&form.database, &form.table) {
            at.row += count_event(bytes, &table.map, &transaction.format).map_err(place)? as i64;
            return Ok(());
        }
        let mut buffer = RowBuffer::default();
        let mut rows = rows.rows(&mut buffer, None);
        while let Some(row) = rows.next_row() {
            columns.append(head, event, operation, &form, at.row, row.map_err(place)?).map_err(place)?;
            at.row += 1;
        }
        Ok(())
    }
}

/// Values that all rows of a transaction have in common.
struct Head<'t> {
    position: i64,
    gtid: String,
    file: &'t str,
    transaction: &'t Transaction,
}

fn operation(kind: RowsKind) -> &'static str {
    match kind {
        RowsKind::Insert => "insert",
        RowsKind::Update | RowsKind::PartialUpdate => "update",
        RowsKind::Delete => "delete",
    }
}

/// Columns under construction; columns that are not wanted stay empty.
struct Columns {
    wanted: Vec<bool>,
    numbers: [Int64Builder; 6],
    texts: [StringBuilder; 6],
    committed_at: TimestampMicrosecondBuilder,
    images: [ImageColumn; 3],
    absent: ListBuilder<StringBuilder>,
    rows: usize,
}

impl Columns {
    fn new(places: &[usize], values: Option<&[Wanted]>, whole: bool) -> Self {
        let [key, before, after] = [None, values, values].map(ImageColumn::new);
        Self {
            wanted: (0..WIDTH).map(|place| places.contains(&place)).collect(),
            numbers: Default::default(),
            texts: Default::default(),
            committed_at: TimestampMicrosecondBuilder::new().with_timezone("UTC"),
            images: [key, before, after.whole(whole)],
            absent: ListBuilder::new(StringBuilder::new()),
            rows: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.rows >= FULL_ROWS || self.images.iter().map(ImageColumn::size).sum::<usize>() >= FULL_BYTES
    }

    fn append(
        &mut self,
        head: &Head<'_>,
        event: &RawEvent,
        operation: &str,
        form: &TableForm,
        number: i64,
        row: Row<'_, '_>,
    ) -> Decoded<()> {
        let transaction = head.transaction;
        let numbers = [
            Some(head.position),
            Some(i64::from(transaction.server_id)),
            transaction.session.map(i64::from),
            Some(number),
            Some(event.offset as i64),
            Some(transaction.offset as i64),
        ];
        for ((column, value), place) in self.numbers.iter_mut().zip(numbers).zip(NUMBERS) {
            if self.wanted[place] {
                column.append_option(value);
            }
        }
        let texts = [
            Some(head.gtid.as_str()),
            Some(form.database.as_str()),
            Some(&form.table),
            Some(operation),
            Some(head.file),
            transaction.xid.as_deref(),
        ];
        for ((column, value), place) in self.texts.iter_mut().zip(texts).zip(TEXTS) {
            if self.wanted[place] {
                column.append_option(value);
            }
        }
        if self.wanted[COMMITTED_AT] {
            self.committed_at.append_option(transaction.committed_at);
        }
        self.rows += 1;
        if self.wanted[ABSENT] {
            self.append_absent(form, &row);
        }
        self.append_images(form, row)
    }

    /// Appends the names of the columns that the last image of a row lacks, because the source left them out.
    fn append_absent(&mut self, form: &TableForm, row: &Row<'_, '_>) {
        if let ImageColumn::Struct(columns) = &mut self.images[2] {
            for name in columns.lacking(form) {
                self.absent.values().append_value(name);
            }
        }
        if let Some(image) = row.after.or(row.before) {
            for (index, (column, value)) in form.columns.iter().zip(image).enumerate() {
                let before = row.before.and_then(|before| before.get(index)).and_then(Option::as_ref);
                // Differences of a JSON document say nothing without the document.
                if value.is_none() || (matches!(value, Some(Value::JsonDiff(_))) && before.is_none()) {
                    self.absent.values().append_value(&column.name);
                }
            }
        }
        self.absent.append(true);
    }

    fn append_images(&mut self, form: &TableForm, row: Row<'_, '_>) -> Decoded<()> {
        let [key, before, after] = &mut self.images;
        if self.wanted[KEY] {
            // The log may leave columns out of either image.
            let whole = |image: &&[Option<Value<'_>>]| {
                form.key.iter().all(|column| image.get(*column).is_some_and(Option::is_some))
            };
            match row.after.filter(whole).or(row.before.filter(whole)).filter(|_| !form.key.is_empty()) {
                Some(image) => key.append_some(form, image, None, form.key.iter().copied())?,
                None => key.append_null(),
            }
        }
        for (column, image, old, place) in [(before, row.before, None, BEFORE), (after, row.after, row.before, AFTER)] {
            match image.filter(|_| self.wanted[place]) {
                Some(image) => column.append(form, image, old)?,
                None if self.wanted[place] => column.append_null(),
                None => {}
            }
        }
        Ok(())
    }

    fn finish(mut self, schema: &SchemaRef, places: &[usize]) -> Result<RecordBatch, ArrowError> {
        let mut made: Vec<Option<ArrayRef>> = vec![None; WIDTH];
        for (column, place) in self.numbers.iter_mut().zip(NUMBERS) {
            made[place] = Some(Arc::new(column.finish()));
        }
        for (column, place) in self.texts.iter_mut().zip(TEXTS) {
            made[place] = Some(Arc::new(column.finish()));
        }
        made[COMMITTED_AT] = Some(Arc::new(self.committed_at.finish()));
        for (column, place) in self.images.iter_mut().zip([KEY, BEFORE, AFTER]) {
            made[place] = Some(column.finish()?);
        }
        made[ABSENT] = Some(Arc::new(self.absent.finish()));
        let columns: Vec<ArrayRef> = places.iter().filter_map(|place| made[*place].clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(Arc::new(schema.project(places)?), columns, &options)
    }
}
