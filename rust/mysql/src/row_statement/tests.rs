//! Tests of statements are in Python, on real servers; here are the names.

use super::literal::quoted;

#[test]
fn a_name_never_leaves_its_quotes() {
    assert_eq!(quoted("a`; DROP TABLE x"), "`a``; DROP TABLE x`");
}
