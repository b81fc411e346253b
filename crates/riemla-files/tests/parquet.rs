//! Parquet files of pyarrow and polars: the same table as the CSV file that was written beside them.

use std::path::{Path, PathBuf};

use riemla_files::table::{ColumnKinds, Table, Values, read_table_from};
use riemla_files::{Error, ReadOptions, Source, read_table};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/parquet").join(name)
}

fn read(name: &str) -> riemla_files::Result<Table> {
    read_table(&path(name), ReadOptions::default())
}

fn from_bytes(bytes: Vec<u8>, options: ReadOptions) -> riemla_files::Result<Table> {
    read_table_from(
        Source::from_reader("data", std::io::Cursor::new(bytes), options)?,
        &ColumnKinds::default(),
    )
}

#[test]
fn all_writers_give_the_table_of_the_csv_file() {
    let expected = read("table.csv").unwrap();
    assert_eq!(expected.rows, 40);
    for name in ["snappy.parquet", "plain.parquet", "v2.parquet", "polars.parquet"] {
        let found = read(name).unwrap();
        assert_eq!((found.rows, found.names()), (expected.rows, expected.names()), "{name}");
        for (a, b) in found.columns.iter().zip(&expected.columns) {
            assert_eq!(a, b, "{name}");
        }
    }
    assert!(matches!(&expected.column("kind").unwrap().values, Values::Strings(_)));
}

#[test]
fn missing_values_keep_their_places_and_other_types_are_named() {
    let table = read("missing.parquet").unwrap();
    let Values::Numbers(numbers) = &table.column("a").unwrap().values else { panic!("{table:?}") };
    assert!(numbers[2].is_nan() && [numbers[0], numbers[1], numbers[3]] == [1.0, 2.0, 4.0], "{numbers:?}");
    assert!(matches!(table.numbers("a"), Err(Error::Cell { line: 3, .. })));
    assert_eq!(table.column("kind").unwrap().missing(), 0);
    let error = read("times.parquet").unwrap_err().to_string();
    assert!(error.contains("column `when` contains times"), "{error}");
}

#[test]
fn damaged_files_and_limits_are_typed_errors() {
    let whole = std::fs::read(path("snappy.parquet")).unwrap();
    for length in 4..whole.len() {
        let error = from_bytes(whole[..length].to_vec(), ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Format { format: "Parquet", .. }), "{length}: {error}");
    }
    let few = ReadOptions { max_columns: 6, ..ReadOptions::default() };
    assert!(matches!(from_bytes(whole.clone(), few), Err(Error::Format { .. })));
    // Enough for the bytes of the file, but not for what its dictionaries unfold to.
    let small = ReadOptions { max_bytes: whole.len() as u64 + 100, ..ReadOptions::default() };
    assert!(matches!(from_bytes(whole.clone(), small), Err(Error::TooLarge { .. })));
    let mut footer = whole.clone();
    let end = footer.len();
    footer[end - 8..end - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(from_bytes(footer, ReadOptions::default()), Err(Error::Format { .. })));
}
