//! The rules by name, the worklog's examples, and a comparison with a naive certifier.

mod examples;
