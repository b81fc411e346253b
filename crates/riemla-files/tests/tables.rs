//! Tables, images and encodings: what is read, and what is refused with which error.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use riemla_files::encoding::{Encoding, EncodingOptions, Target, Task};
use riemla_files::idx::{Idx, LabelRange, images_dataset, read_idx_from};
use riemla_files::table::{CsvReader, Table, Values, read_table_from};
use riemla_files::{Error, ReadOptions, Result, Source};

fn source(bytes: impl AsRef<[u8]>) -> Result<Source> {
    limited(bytes, ReadOptions::default())
}

fn limited(bytes: impl AsRef<[u8]>, options: ReadOptions) -> Result<Source> {
    Source::from_reader("data", std::io::Cursor::new(bytes.as_ref().to_vec()), options)
}

fn table(bytes: impl AsRef<[u8]>) -> Result<Table> {
    read_table_from(source(bytes)?, &[])
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
    let text = vec!["kind".to_string()];
    let mut reader = CsvReader::new(source("x,kind\n1,01\n2,b\n3,3\n").unwrap(), &text).unwrap();
    let first = reader.next_chunk(2).unwrap().unwrap();
    let second = reader.next_chunk(2).unwrap().unwrap();
    assert!(reader.next_chunk(2).unwrap().is_none());
    assert_eq!((first.rows, second.rows), (2, 1));
    assert_eq!(second.line(0), 4);
    assert!(matches!(&second.columns[1].values, Values::Strings(kinds) if kinds[0] == "3"));
}

#[test]
fn bad_csv_gives_the_line_and_column() {
    let error = |text: &str| table(text).unwrap_err();
    assert!(matches!(error("a,b\n1,2\n3\n"), Error::Ragged { line: 3, expected: 2, found: 1, .. }));
    let missing = error("a,b\n1,2\n3,?\n");
    assert!(matches!(&missing, Error::Missing { line: 3, column, .. } if column == "b"));
    assert!(missing.to_string().contains("line 3, column `b`"));
    assert!(matches!(error("a,b\n1,\n"), Error::Missing { line: 2, .. }));
    assert!(matches!(error("a,b\n1,NaN\n2,3\n"), Error::NotFinite { line: 2, .. }));
    assert!(matches!(error("a,b\n1,1e999\n"), Error::NotFinite { line: 2, .. }));
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
    let read = |bytes: &[u8]| read_table_from(limited(bytes, options)?, &[]);
    assert!(matches!(read(&bomb), Err(Error::TooLarge { limit, .. }) if limit == 1 << 20));
    assert!(matches!(table(gzip(b"")), Err(Error::Empty { .. })));
    let whole = gzip(FLOWERS.as_bytes());
    assert!(matches!(table(&whole[..whole.len() - 9]), Err(Error::Format { format: "gzip", .. })));
    let exact = ReadOptions { max_bytes: FLOWERS.len() as u64, ..ReadOptions::default() };
    assert!(read_table_from(limited(FLOWERS, exact).unwrap(), &[]).is_ok());
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
    assert!(matches!(table(npy("<f8", "1,", &doubles(&[f64::NAN]))), Err(Error::NotFinite { .. })));
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

fn classify(text: &str) -> Result<Encoding> {
    Encoding::fit(&table(text)?, &EncodingOptions::new(Task::Classification))
}

#[test]
fn an_encoding_standardises_and_knows_its_classes() {
    let encoding = classify(FLOWERS).unwrap();
    assert_eq!(encoding.classes().unwrap(), ["lily", "rose, red"]);
    let data = encoding.dataset(&table(FLOWERS).unwrap()).unwrap();
    let end = 1.5f64.sqrt();
    let expected = [-end, 0.0, 0.0, 0.0, end, 0.0];
    assert!(data.inputs().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
    assert_eq!(data.labels().unwrap(), [0, 1, 0]);
    let json = serde_json::to_string(&encoding).unwrap();
    assert_eq!(serde_json::from_str::<Encoding>(&json).unwrap(), encoding);
    // Other order, no target; a constant column that is no longer constant.
    let inputs = encoding.inputs(&table("width,length\n4.5,3\n").unwrap()).unwrap();
    assert_eq!(inputs, [0.0, 2.0]);
}

#[test]
fn integer_classes_sort_by_value_and_real_targets_decode() {
    let encoding = classify("x,y\n1,10\n2,-1\n3,9\n").unwrap();
    assert_eq!(encoding.classes().unwrap(), ["-1", "9", "10"]);
    assert!(matches!(classify("x,y\n1,0.5\n2,1\n"), Err(Error::Column { .. })));
    assert!(matches!(classify("x,y\n1,1\n2,1\n"), Err(Error::Column { .. })));
    let options = EncodingOptions { target: Some("x".into()), ..EncodingOptions::new(Task::Regression) };
    let encoding = Encoding::fit(&table("x,y\n10,1\n30,2\n").unwrap(), &options).unwrap();
    assert_eq!(encoding.target, Target::Value { column: "x".into(), mean: 20.0, std: 10.0 });
    assert_eq!(encoding.target_scale().unwrap().decode(-1.0), 10.0);
}

#[test]
fn later_tables_that_do_not_fit_are_refused() {
    let encoding = classify(FLOWERS).unwrap();
    let unknown = encoding.dataset(&table("length,width,kind\n1,1,lily\n1,1,oak\n").unwrap()).unwrap_err();
    assert!(matches!(&unknown, Error::UnknownClass { line: 3, unknown, .. } if *unknown == ["oak"]));
    assert!(unknown.to_string().contains("`lily`, `rose, red`"));
    let columns = encoding.inputs(&table("length,height,id\n1,1,7\n").unwrap()).unwrap_err();
    match &columns {
        Error::Columns { missing, .. } => assert_eq!(missing, &["width"]),
        other => panic!("{other}"),
    }
    let more = encoding.inputs(&table("id,length,width\n7,1,1\n").unwrap()).unwrap();
    assert_eq!(more, encoding.inputs(&table("length,width\n1,1\n").unwrap()).unwrap());
    let no_target = encoding.dataset(&table("length,width\n1,1\n").unwrap());
    assert!(matches!(no_target, Err(Error::Columns { missing, .. }) if missing == ["kind"]));
    let text = encoding.inputs(&table("length,width\n1,1\nlong,1\n").unwrap());
    assert!(matches!(text, Err(Error::Text { line: 3, .. })));
    let absent = EncodingOptions { target: Some("z".into()), ..EncodingOptions::new(Task::Regression) };
    assert!(matches!(Encoding::fit(&table(FLOWERS).unwrap(), &absent), Err(Error::Columns { .. })));
    let huge = classify("x,y\n1e308,0\n-1e308,1\n");
    assert!(matches!(huge, Err(Error::Column { .. })));
}

#[test]
fn text_features_become_one_input_per_category() {
    let encoding = classify("color,size,kind\nred,1,a\nblue,3,b\nred,2,a\n").unwrap();
    assert_eq!(encoding.width(), 3);
    let data = encoding.dataset(&table("color,size,kind\nblue,2,b\nred,2,a\n").unwrap()).unwrap();
    assert_eq!(data.inputs(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(encoding.text_columns(), ["color", "kind"]);
    let unknown = encoding.inputs(&table("color,size\nred,1\ngreen,1\n").unwrap()).unwrap_err();
    assert!(
        matches!(&unknown, Error::UnknownClass { line: 3, column, .. } if column == "color"),
        "{unknown}"
    );
    let rows: String = (0..200).map(|i| format!("name{i},{}\n", i % 2)).collect();
    let names = classify(&format!("x,y\n{rows}")).unwrap_err();
    assert!(names.to_string().contains("200 different values") && names.to_string().contains("--ignore"));
}

#[test]
fn columns_that_are_not_wanted_may_hold_anything() {
    let text = "x,note,y\n1,,2\n3,NaN,\n";
    let source = Source::from_reader("t.csv", std::io::Cursor::new(text), ReadOptions::default()).unwrap();
    let mut reader = CsvReader::new(source, &[]).unwrap().only(&["x".into(), "z".into()], &["y".into()]);
    let table = reader.next_chunk(10).unwrap().unwrap();
    assert_eq!((table.names(), table.rows), (vec!["x".to_string(), "y".into()], 2));
    assert_eq!(table.column("y").unwrap().values, Values::Strings(vec!["2".into(), String::new()]));
    assert_eq!(table.numbers("x").unwrap(), [1.0, 3.0]);
}
