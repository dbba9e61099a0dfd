//! Hashing one key, and the write set of one transaction, for use as a library.

use paraply_core::collation::Collation;
use paraply_core::schema::TableName;
use paraply_core::write_set::{KeyHasher, key_prefix};
use paraply_plan::write_sets::{Options, Scheme};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};

use crate::errors::usage;

/// Returns the options of hashing by the scheme's name.
pub fn hash_options(scheme: &str, bytewise: bool) -> PyResult<Options> {
    let scheme = match scheme {
        "fine" => Scheme::Fine,
        "group" | "writeset" => Scheme::Group,
        other => return Err(usage(&format!("unknown scheme `{other}`: it is fine, group or writeset"))),
    };
    Ok(Options { scheme, bytewise, partial_images: true, by_event: false, most_keys: 0 })
}

/// Return the hash of one key of one row (R11): XXH64 over names and canonical values.
///
/// Args:
///     key_name: ``PRIMARY`` or the unique key's name.
///     database: The table's database.
///     table: The table.
///     values: The key's parts: int, Decimal, str, bytes or bool.
///     collation: The collation of the text parts; None hashes their bytes.
///
/// Raises:
///     UsageError: A value has another type, or the collation has no exact form.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // taken over from Python
#[pyo3(signature = (key_name, database, table, *values, collation=None))]
pub fn write_set_hash(
    key_name: &str,
    database: &str,
    table: &str,
    values: Vec<Bound<'_, PyAny>>,
    collation: Option<&str>,
) -> PyResult<u64> {
    let collation = match collation {
        None => None,
        Some(name) => Some(Collation::by_name(name).ok_or_else(|| {
            usage(&format!("the collation `{name}` has no exact form here; leave it out to hash the text as it is"))
        })?),
    };
    let mut hasher = KeyHasher::default();
    hasher.begin(&key_prefix(key_name, &TableName::new(database, table)));
    for value in &values {
        hasher.part(&form(value, collation)?);
    }
    Ok(hasher.finish())
}

/// Return the exactness of a collation's form: ``exact``, ``safe`` (coarser) or ``whole-key`` (R13).
///
/// Args:
///     name: The collation's full name.
///     mariadb: Family of the name, for the few names with different collations in MySQL and MariaDB; None for a class valid in both.
///
/// Raises:
///     UsageError: The collation does not exist.
#[pyfunction]
#[pyo3(signature = (name, mariadb=None))]
pub fn collation_class(name: &str, mariadb: Option<bool>) -> PyResult<&'static str> {
    Ok(collation_of(name, mariadb)?.class().name())
}

/// Return the bytes that are hashed in place of a value: the same for all values equal under the collation (R12).
///
/// Args:
///     collation: The collation's full name.
///     value: Text in the collation's character set.
///     mariadb: Family of the name, as for ``collation_class``.
///
/// Raises:
///     UsageError: The collation does not exist or is of class ``whole-key``, or the value is not text in its character set.
#[pyfunction]
#[pyo3(signature = (collation, value, mariadb=None))]
pub fn equality_form<'py>(
    py: Python<'py>,
    collation: &str,
    value: &[u8],
    mariadb: Option<bool>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::with_capacity(value.len() * 2);
    match collation_of(collation, mariadb)?.equality_form(value, &mut out) {
        Ok(()) => Ok(PyBytes::new(py, &out)),
        Err(error) => Err(usage(&error.to_string())),
    }
}

/// Returns the collation of this name, of one server family if it is given.
pub fn collation_of(name: &str, mariadb: Option<bool>) -> PyResult<&'static Collation> {
    match mariadb {
        None => Collation::by_name(name),
        Some(mariadb) => Collation::of_server(name, mariadb),
    }
    .ok_or_else(|| usage(&format!("there is no collation `{name}`")))
}

/// Returns the canonical bytes of a Python value.
fn form(value: &Bound<'_, PyAny>, collation: Option<&Collation>) -> PyResult<Vec<u8>> {
    if let Ok(text) = value.cast::<PyString>() {
        let bytes = text.to_string().into_bytes();
        let Some(collation) = collation else { return Ok(bytes) };
        let mut out = Vec::with_capacity(bytes.len() * 2);
        return match collation.equality_form(&bytes, &mut out) {
            Ok(()) => Ok(out),
            Err(error) => Err(usage(&error.to_string())),
        };
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(if value.is_truthy()? { b"1".to_vec() } else { b"0".to_vec() });
    }
    if value.is_instance_of::<PyInt>() || value.get_type().name()? == "Decimal" {
        return Ok(value.str()?.to_string().into_bytes());
    }
    let kind = value.get_type().name()?;
    Err(usage(&format!("a key's value may be int, Decimal, str, bytes or bool, not {kind}; NULL is in no key")))
}
