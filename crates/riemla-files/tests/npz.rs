//! NPZ archives from outside: limits hold after decompression and over all entries; damage is an error.

use std::io::{Cursor, Write as _};

use riemla_files::table::{ColumnKinds, read_table_from};
use riemla_files::{Error, ReadOptions, Result, Source, Table};
use zip::CompressionMethod::{Deflated, Stored};
use zip::write::SimpleFileOptions;

/// A column of `rows` zeros as NPY.
fn zeros(rows: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows},), }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), &vec![0; 8 * rows]].concat()
}

fn archive(method: zip::CompressionMethod, arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read(bytes: &[u8], max_bytes: u64) -> Result<Table> {
    let options = ReadOptions { max_bytes, ..ReadOptions::default() };
    read_table_from(
        Source::from_reader("t.npz", Cursor::new(bytes.to_vec()), options)?,
        &ColumnKinds::default(),
    )
}

#[test]
fn stored_and_deflated_entries_are_read() {
    for method in [Stored, Deflated] {
        let table = read(&archive(method, &[("x.npy", zeros(3)), ("y.npy", zeros(3))]), 1 << 20).unwrap();
        assert_eq!((table.names(), table.rows), (vec!["x".to_string(), "y".into()], 3));
    }
}

#[test]
fn the_limit_holds_after_decompression() {
    let bomb = archive(Deflated, &[("x.npy", zeros(1 << 19))]);
    assert!(bomb.len() < 1 << 14, "{}", bomb.len());
    assert!(matches!(read(&bomb, 1 << 20), Err(Error::TooLarge { limit, .. }) if limit == 1 << 20));
    assert_eq!(read(&bomb, 1 << 23).unwrap().rows, 1 << 19);
}

#[test]
fn the_limit_holds_for_all_entries_together() {
    let names = ["a.npy", "b.npy", "c.npy"];
    let bomb = archive(Deflated, &names.map(|name| (name, zeros(1 << 16))));
    // Each has a little more than half a MiB.
    assert!(matches!(read(&bomb, 1 << 20), Err(Error::TooLarge { .. })));
    assert_eq!(read(&bomb, 1 << 21).unwrap().columns.len(), 3);
}

/// The size that a header claims is no reason to believe, or to allocate, anything.
#[test]
fn false_sizes_and_damaged_data_are_errors() {
    let whole = archive(Deflated, &[("x.npy", zeros(1 << 10))]);
    let central = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let mut claims = whole.clone();
    // Uncompressed size in the central directory.
    claims[central + 24..central + 28].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    if let Ok(table) = read(&claims, 1 << 20) {
        assert_eq!(table.rows, 1 << 10);
    }
    let mut damaged = archive(Stored, &[("x.npy", zeros(1 << 10))]);
    let data = damaged.windows(6).position(|bytes| bytes == b"\x93NUMPY").unwrap();
    damaged[data + 1000] ^= 1;
    assert!(matches!(read(&damaged, 1 << 20), Err(Error::Format { format: "NPZ", .. })), "checksum");
    assert!(matches!(read(&whole[..whole.len() - 30], 1 << 20), Err(Error::Format { format: "NPZ", .. })));
}
