//! Values as literals, and as conditions that only the same value meets.

use std::borrow::Cow;
use std::sync::Arc;

use paraply_binlog::rows::image_cursor::Malformed;
use paraply_binlog::rows::layout::type_code;
use paraply_binlog::rows::table_map::MappedColumn;
use paraply_binlog::rows::values::decode::decompress;
use paraply_binlog::rows::values::json::{holds_opaque, json_text};
use paraply_binlog::rows::values::value_text::{ColumnForm, Form, write_value};
use paraply_core::collation::name_of;
use paraply_core::schema::Column;
use paraply_core::value::Value;

/// Reason why a value has no literal.
#[derive(Debug)]
pub(super) enum Reason {
    PartialJson,
    NotExpressible(&'static str),
    Damaged(Malformed),
}

/// Way in which a column's values are written and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// A number: without quotes, equal only to itself.
    Number,
    /// A date, a time, a UUID or an address: in quotes, equal only to itself.
    Quoted,
    /// Text in a character set.
    Text { charset: String, is_ascii_compatible: bool, is_utf8: bool },
    /// Bytes.
    Binary,
    /// A JSON document of MySQL.
    Json,
    /// A geometry or a vector.
    Opaque,
}

impl ColumnKind {
    pub(super) fn of(form: &Form, mapped: &MappedColumn, declared: Option<&Column>, mariadb: bool) -> Self {
        use type_code as t;
        match mapped.type_code {
            t::JSON => return Self::Json,
            t::GEOMETRY | t::VECTOR => return Self::Opaque,
            t::ENUM | t::SET | t::BIT | t::YEAR => return Self::Number,
            _ => {}
        }
        match form {
            Form::Uuid | Form::Inet4 | Form::Inet6 => Self::Quoted,
            Form::Binary(_) => Self::Binary,
            Form::Text(_) => {
                let logged = mapped.collation_id.and_then(|id| u16::try_from(id).ok());
                let logged = logged.and_then(|id| name_of(id, mariadb));
                let collation = logged.or(declared.and_then(|column| column.collation.as_deref()));
                let charset = collation.map_or("utf8mb4", |name| name.split('_').next().unwrap_or(name));
                Self::Text {
                    is_ascii_compatible: !matches!(charset, "ucs2" | "utf16" | "utf16le" | "utf32" | "swe7"),
                    is_utf8: charset.starts_with("utf8"),
                    charset: if charset == "utf8mb3" { "utf8".to_owned() } else { charset.to_owned() },
                }
            }
            Form::Plain | Form::Enum(_) | Form::Set(_) if is_temporal(mapped.type_code) => Self::Quoted,
            Form::Plain | Form::Enum(_) | Form::Set(_) => Self::Number,
        }
    }

    /// Returns true if an index finds the value by `=`.
    pub(super) fn is_comparable(&self) -> bool {
        !matches!(self, Self::Json | Self::Opaque)
    }

    /// Returns true if `=` is true for the same value only.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Self::Number | Self::Quoted | Self::Binary)
    }
}

fn is_temporal(code: u8) -> bool {
    use type_code as t;
    matches!(
        code,
        t::DATE | t::NEWDATE | t::TIME | t::TIME2 | t::DATETIME | t::DATETIME2 | t::TIMESTAMP | t::TIMESTAMP2
    )
}

/// Returns true if a column of this type may be declared `ON UPDATE CURRENT_TIMESTAMP`.
pub(super) fn may_set_itself(code: u8) -> bool {
    use type_code as t;
    matches!(code, t::DATETIME | t::DATETIME2 | t::TIMESTAMP | t::TIMESTAMP2)
}

/// A column as statements write it.
#[derive(Debug)]
pub(super) struct StatementColumn {
    pub(super) name: String,
    pub(super) quoted: Arc<str>,
    pub(super) kind: ColumnKind,
    pub(super) form: ColumnForm,
    pub(super) generated: bool,
    /// True if the server may set the column by itself when others change.
    pub(super) sets_itself: bool,
    /// True if the order in which rows get their values matters: the column is part of a key.
    pub(super) in_key: bool,
}

impl StatementColumn {
    /// Appends a value as a literal for the column.
    pub(super) fn write(&self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        match (&self.kind, *value) {
            (_, Value::Null) => out.extend_from_slice(b"NULL"),
            (_, Value::JsonDiff(_)) => return Err(Reason::PartialJson),
            (ColumnKind::Text { charset, .. }, _) => {
                let bytes = self.bytes(value)?;
                if !self.write_readable(&bytes, out) {
                    out.extend_from_slice(format!("_{charset} ").as_bytes());
                    hexadecimal(&bytes, out);
                }
            }
            (ColumnKind::Json, Value::Json(document)) => {
                let mut text = Vec::new();
                if holds_opaque(document).map_err(Reason::Damaged)? {
                    return Err(Reason::NotExpressible("a JSON document with a value of another SQL type"));
                }
                json_text(document, &mut text).map_err(Reason::Damaged)?;
                quote(&text, out);
            }
            (ColumnKind::Binary | ColumnKind::Opaque, _) => hexadecimal(&self.bytes(value)?, out),
            (_, Value::Enum(number)) => out.extend_from_slice(number.to_string().as_bytes()),
            (_, Value::Set(number)) => out.extend_from_slice(number.to_string().as_bytes()),
            // The exact value of a FLOAT: the server compares it as DOUBLE.
            (_, Value::Float(number)) => out.extend_from_slice(format!("{:e}", f64::from(number)).as_bytes()),
            (_, Value::Double(number)) => out.extend_from_slice(format!("{number:e}").as_bytes()),
            (ColumnKind::Quoted, _) => {
                let mut text = Vec::new();
                write_value(&self.form.form, value, None, &mut text).map_err(Reason::Damaged)?;
                quote(&text, out);
            }
            (_, plain) => {
                write_value(&self.form.form, &plain, None, out).map_err(Reason::Damaged)?;
            }
        }
        Ok(())
    }

    /// Appends the condition that the column holds this value.
    pub(super) fn write_same(&self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
        let name = &self.quoted;
        if value.is_null() {
            out.extend_from_slice(format!("{name} IS NULL").as_bytes());
            return Ok(());
        }
        match &self.kind {
            ColumnKind::Text { .. } => {
                out.extend_from_slice(format!("CAST({name} AS BINARY)=").as_bytes());
                let bytes = self.bytes(value)?;
                if !self.write_readable(&bytes, out) {
                    hexadecimal(&bytes, out);
                }
            }
            ColumnKind::Json => {
                out.extend_from_slice(format!("CAST(CAST({name} AS CHAR) AS BINARY)=").as_bytes());
                self.write(value, out)?;
            }
            ColumnKind::Opaque => {
                out.extend_from_slice(format!("HEX({name})=").as_bytes());
                let mut digits = Vec::new();
                hexadecimal(&self.bytes(value)?, &mut digits);
                out.extend_from_slice(digits.get(1..).unwrap_or_default());
            }
            ColumnKind::Number | ColumnKind::Quoted | ColumnKind::Binary => {
                out.extend_from_slice(name.as_bytes());
                out.push(b'=');
                self.write(value, out)?;
            }
        }
        Ok(())
    }

    /// Returns the bytes of a text, a binary string, a geometry or a vector.
    fn bytes<'v>(&self, value: &Value<'v>) -> Result<Cow<'v, [u8]>, Reason> {
        Ok(match *value {
            Value::Compressed { stored, limit } => Cow::Owned(decompress(stored, limit).map_err(Reason::Damaged)?),
            Value::Bytes(bytes) => match self.form.form {
                Form::Binary(width) if width > bytes.len() => {
                    let mut padded = bytes.to_vec();
                    padded.resize(width, 0);
                    Cow::Owned(padded)
                }
                _ => Cow::Borrowed(bytes),
            },
            Value::Geometry(bytes) | Value::Vector(bytes) => Cow::Borrowed(bytes),
            _ => return Err(Reason::NotExpressible("a value that is not of the column's type")),
        })
    }

    /// Appends text in quotes if that has the same bytes in the column's character set; returns false if not.
    fn write_readable(&self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let ColumnKind::Text { is_ascii_compatible, is_utf8, .. } = self.kind else { return false };
        let is_plain = !bytes.iter().any(u8::is_ascii_control);
        let is_same =
            if bytes.is_ascii() { is_ascii_compatible } else { is_utf8 && std::str::from_utf8(bytes).is_ok() };
        if is_plain && is_same {
            quote(bytes, out);
        }
        is_plain && is_same
    }
}

/// Appends text in quotes; the session reads backslashes as they are.
fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text {
        if *byte == b'\'' {
            out.push(b'\'');
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"X'");
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
    out.push(b'\'');
}

/// Returns a name in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
