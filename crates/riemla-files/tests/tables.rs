//! Tables and images: what is read, and what is refused with which error.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use riemla_files::idx::{Idx, LabelRange, images_dataset, read_idx_from};
use riemla_files::table::{ColumnKinds, CsvReader, Table, Values, read_table_from};
use riemla_files::{Error, ReadOptions, Result, Source};

fn source(bytes: impl AsRef<[u8]>) -> Result<Source> {
    limited(bytes, ReadOptions::default())
}

fn limited(bytes: impl AsRef<[u8]>, options: ReadOptions) -> Result<Source> {
    Source::from_reader("data", std::io::Cursor::new(bytes.as_ref().to_vec()), options)
}

fn table(bytes: impl AsRef<[u8]>) -> Result<Table> {
    read_table_from(source(bytes)?, &ColumnKinds::default())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        writer.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn idx(dims: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dims.len() as u8];
    dims.iter().for_each(|dim| bytes.extend(dim.to_be_bytes()));
    bytes.extend(data);
    bytes
}

const FLOWERS: &str = "\u{feff}length, width ,kind\n1,2.5,lily\n\n3,2.5,\"rose, red\"\n5,2.5,lily\n";

#[test]
fn csv_is_read_plain_and_compressed() {
    let plain = table(FLOWERS).unwrap();
    assert_eq!(plain.names(), ["length", "width", "kind"]);
    assert_eq!(plain.rows, 3);
    assert_eq!(plain.numbers("length").unwrap(), [1.0, 3.0, 5.0]);
    assert_eq!(plain.lines, [2, 4, 5]);
    assert!(matches!(&plain.columns[2].values, Values::Strings(kinds) if kinds[1] == "rose, red"));
    assert_eq!(table(gzip(FLOWERS.as_bytes())).unwrap(), plain);
    assert_eq!(table(FLOWERS.replace('\n', "\r\n")).unwrap(), plain);
    assert_eq!(table(FLOWERS.trim_end()).unwrap(), plain);
    let quoted = table("a,b\n\"x\ny\",1\nz,2").unwrap();
    assert_eq!(quoted.lines, [2, 4]);
    assert!(plain.clone().without(&["kind".into()]).unwrap().column("kind").is_err());
}

#[test]
fn csv_in_chunks_is_the_whole() {
    let kinds = ColumnKinds { text: vec!["kind".into()], numbers: vec!["x".into()] };
    let mut reader = CsvReader::new(source("x,kind\n1,01\n2,b\n,3\n").unwrap(), &kinds).unwrap();
    let first = reader.next_chunk(2).unwrap().unwrap();
    let second = reader.next_chunk(2).unwrap().unwrap();
    assert!(reader.next_chunk(2).unwrap().is_none());
    assert_eq!((first.rows, second.rows), (2, 1));
    assert_eq!(second.line(0), 4);
    assert!(matches!(&second.columns[0].values, Values::Numbers(x) if x[0].is_nan()), "a chunk of gaps only");
    assert!(matches!(&second.columns[1].values, Values::Strings(kinds) if kinds[0] == "3"));
}

#[test]
fn bad_csv_gives_the_line_and_column() {
    let error = |text: &str| table(text).unwrap_err();
    assert!(matches!(error("a,b\n1,2\n3\n"), Error::Ragged { line: 3, expected: 2, found: 1, .. }));
    let numbers = |text: &str| table(text).unwrap().numbers("b").unwrap_err();
    let missing = numbers("a,b\n1,2\n3,?\n");
    assert!(missing.to_string().contains("line 3, column `b`: missing value"), "{missing}");
    assert!(matches!(numbers("a,b\n1,NaN\n2,3\n"), Error::Cell { line: 2, .. }));
    assert!(matches!(numbers("a,b\n1,1e999\n"), Error::NotFinite { line: 2, .. }));
    assert!(matches!(numbers("a,b\n1,2\n1,x\n"), Error::Text { line: 3, .. }));
    assert!(matches!(error(""), Error::Empty { .. }));
    assert!(matches!(error("a,b\n"), Error::Empty { .. }));
    assert!(matches!(error("1,2\n3,4\n"), Error::Format { .. }));
    assert!(matches!(error("a,a\n3,4\n"), Error::Format { .. }));
    assert!(matches!(error("a,\n3,4\n"), Error::Format { .. }));
    assert!(matches!(table(b"a,b\n1,\xff\n").unwrap_err(), Error::Format { .. }));
}

#[test]
fn gzip_is_bounded_and_its_damage_reported() {
    let options = ReadOptions { max_bytes: 1 << 20, ..ReadOptions::default() };
    let bomb = gzip(&[b"x\n".as_slice(), &[b'1'; 1 << 22]].concat());
    assert!(bomb.len() < 1 << 14);
    let read = |bytes: &[u8]| read_table_from(limited(bytes, options)?, &ColumnKinds::default());
    assert!(matches!(read(&bomb), Err(Error::TooLarge { limit, .. }) if limit == 1 << 20));
    assert!(matches!(table(gzip(b"")), Err(Error::Empty { .. })));
    let whole = gzip(FLOWERS.as_bytes());
    assert!(matches!(table(&whole[..whole.len() - 9]), Err(Error::Format { format: "gzip", .. })));
    let exact = ReadOptions { max_bytes: FLOWERS.len() as u64, ..ReadOptions::default() };
    assert!(read_table_from(limited(FLOWERS, exact).unwrap(), &ColumnKinds::default()).is_ok());
}

#[test]
fn npy_and_npz_become_columns() {
    let read = table(npy("<f8", "2, 2", &doubles(&[1.0, 2.0, 3.0, 4.0]))).unwrap();
    assert_eq!(read.names(), ["c0", "c1"]);
    assert_eq!(read.numbers("c1").unwrap(), [2.0, 4.0]);
    let big_endian = table(npy(">i2", "2,", &[0xff, 0xfe, 0, 3])).unwrap();
    assert_eq!(big_endian.numbers("c0").unwrap(), [-2.0, 3.0]);
    let mut fortran = npy("<f8", "2, 3", &doubles(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    let text = String::from_utf8_lossy(&fortran).find("False").unwrap() - 2;
    fortran[text..text + 5].copy_from_slice(b"True ");
    assert_eq!(table(fortran).unwrap().numbers("c1").unwrap(), [2.0, 5.0]);
    let inputs = npy("<f4", "2, 2", &[1.0f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat());
    let both = table(npz(&[("x", inputs.clone()), ("y", npy("|u1", "2,", &[0, 1]))])).unwrap();
    assert_eq!(both.names(), ["x_0", "x_1", "y"]);
    assert_eq!(both.numbers("y").unwrap(), [0.0, 1.0]);
    let uneven = table(npz(&[("x", inputs), ("y", npy("|u1", "3,", &[0, 1, 1]))]));
    assert!(matches!(uneven, Err(Error::Format { format: "NPZ", .. })));
    let zeros = npz(&[("x", npy("|u1", "90000,", &[0; 90000]))]);
    let most = |max_bytes| limited(&zeros, ReadOptions { max_bytes, ..ReadOptions::default() });
    let read = |max_bytes| read_table_from(most(max_bytes)?, &ColumnKinds::default());
    let refused = read(80_000).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { limit: 80_000, .. }), "{refused}");
    assert!(refused.to_string().contains("--max-size"), "{refused}");
    assert_eq!(read(100_000).unwrap().rows, 90_000);
}

#[test]
fn bad_npy_is_a_typed_error() {
    assert!(matches!(table(npy("<U4", "1,", &[0; 16])), Err(Error::Dtype { .. })));
    assert!(matches!(table(npy("<c16", "1,", &[0; 16])), Err(Error::Dtype { .. })));
    assert!(matches!(
        table(npy("<f8", "2,", &[0; 15])),
        Err(Error::Truncated { expected: 16, found: 15, .. })
    ));
    assert!(matches!(table(npy("<f8", "1,", &[0; 9])), Err(Error::Format { .. })));
    let huge = npy("<f8", "18446744073709551615, 2", &[]);
    assert!(matches!(table(huge), Err(Error::Format { .. })));
    assert!(matches!(table(npy("<f8", "99999999999, 2", &[])), Err(Error::TooLarge { .. })));
    assert!(matches!(table(npy("<f8", "9, 99999999999", &[])), Err(Error::Format { .. })));
    assert!(matches!(table(npy("<f8", "0, 2", &[])), Err(Error::Empty { .. })));
    let gap = table(npy("<f8", "2,", &doubles(&[1.0, f64::NAN]))).unwrap();
    assert!(matches!(gap.numbers("c0"), Err(Error::Cell { line: 2, .. })));
    let infinite = table(npy("<f8", "2,", &doubles(&[1.0, f64::INFINITY]))).unwrap();
    assert!(matches!(infinite.numbers("c0"), Err(Error::NotFinite { line: 2, .. })));
}

#[test]
fn images_are_checked() {
    let read = |bytes: &[u8]| read_idx_from(source(bytes)?);
    let images = read(&gzip(&idx(&[2, 1, 2], &[0, 255, 51, 0]))).unwrap();
    let labels = read(&idx(&[2], &[1, 0])).unwrap();
    let range = LabelRange { first: 0, classes: 2 };
    let data = images_dataset(&images, &labels, range).unwrap();
    assert_eq!(data.inputs(), [0.0, 1.0, 0.2, 0.0]);
    assert_eq!(data.labels().unwrap(), [1, 0]);
    let one = images_dataset(&images, &labels, LabelRange { first: 1, classes: 2 });
    assert!(matches!(one, Err(Error::Label { item: 1, label: 0, first: 1, last: 2, .. })));
    assert!(matches!(images_dataset(&labels, &images, range), Err(Error::Format { .. })));
    let more = Idx { dims: vec![3], data: vec![0; 3], ..labels };
    assert!(matches!(images_dataset(&images, &more, range), Err(Error::Mismatch { .. })));

    assert!(matches!(read(b""), Err(Error::Empty { .. })));
    assert!(matches!(read(&gzip(b"")), Err(Error::Empty { .. })));
    assert!(matches!(read(b"PNG\x00aaaa"), Err(Error::Format { .. })));
    assert!(matches!(read(&[0, 0, 13, 1, 0, 0, 0, 1, 0, 0, 0, 0]), Err(Error::Dtype { .. })));
    assert!(matches!(read(&idx(&[3, 1], &[0; 2])), Err(Error::Truncated { .. })));
    assert!(matches!(read(&idx(&[u32::MAX, 1], &[0; 2])), Err(Error::Truncated { .. })));
    assert!(matches!(read(&idx(&[u32::MAX; 2], &[0; 2])), Err(Error::TooLarge { .. })));
    assert!(matches!(read(&idx(&[u32::MAX; 4], &[0; 2])), Err(Error::Format { .. })));
    assert!(matches!(read(&idx(&[1], &[0; 2])), Err(Error::Format { .. })));
    assert!(matches!(read(&idx(&[0, 3], &[])), Err(Error::Empty { .. })));
}

#[test]
fn columns_that_are_not_wanted_may_hold_anything() {
    let text = "x,note,y\n1,,2\n3,1e999,\n";
    let reader = || CsvReader::new(source(text).unwrap(), &ColumnKinds::default()).unwrap();
    let mut some = reader().only(&["x".into()], &["y".into()]).unwrap();
    let table = some.next_chunk(10).unwrap().unwrap();
    assert_eq!((table.names(), table.rows), (vec!["x".to_string(), "y".into()], 2));
    assert_eq!(table.column("y").unwrap().values, Values::Strings(vec!["2".into(), String::new()]));
    assert_eq!(table.numbers("x").unwrap(), [1.0, 3.0]);
    // What is there is listed, whatever was asked for.
    let Err(absent) = reader().only(&["z".into()], &["id".into()]) else { panic!("z is not there") };
    let message = absent.to_string();
    assert!(message.contains("missing column `z`, `id`; its columns are: `x`, `note`, `y`"), "{message}");
}
