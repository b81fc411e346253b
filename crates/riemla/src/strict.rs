//! Strict reading of tagged choices: one without settings refuses keys next to its tag.
//!
//! serde's `deny_unknown_fields` does not reach unit variants of internally tagged enums.

use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoFields {}

/// For `#[serde(deserialize_with)]` on a unit variant.
pub(crate) fn no_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    NoFields::deserialize(deserializer).map(|NoFields {}| ())
}
