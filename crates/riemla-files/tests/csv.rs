//! CSV files as people write them: delimiters, decimal commas, line ends, missing values, damage.

use riemla_files::table::{ColumnKinds, Table, Values, read_table_from};
use riemla_files::{CsvOptions, Error, ReadOptions, Result, Source};

fn read(bytes: impl AsRef<[u8]>, csv: CsvOptions) -> Result<Table> {
    let options = ReadOptions { csv, ..ReadOptions::default() };
    let bytes = std::io::Cursor::new(bytes.as_ref().to_vec());
    read_table_from(Source::from_reader("data", bytes, options)?, &ColumnKinds::default())
}

fn table(bytes: impl AsRef<[u8]>) -> Result<Table> {
    read(bytes, CsvOptions::default())
}

const PLAIN: &str = "size,kind\n1.5,a\n2,\"b,c\"\n";

#[test]
fn semicolons_and_tabs_are_recognised() {
    let plain = table(PLAIN).unwrap();
    for delimiter in [";", "\t"] {
        let text = PLAIN.replace("e,k", &format!("e{delimiter}k")).replace(",a", &format!("{delimiter}a"));
        let text = text.replace("2,", &format!("2{delimiter}"));
        assert_eq!(table(&text).unwrap(), plain, "{text}");
    }
    // Quoted fields hold other delimiters, and line ends.
    let quoted = table("\"a;1\",b\n\"x;y\n;z\",1\n\"u;v\",2\n").unwrap();
    assert_eq!(quoted.names(), ["a;1", "b"]);
    assert_eq!(quoted.lines, [2, 4]);
}

#[test]
fn any_delimiter_can_be_told() {
    let options = CsvOptions { delimiter: Some(b'|'), ..CsvOptions::default() };
    assert_eq!(read("a;1|b\n3|4\n", options).unwrap().names(), ["a;1", "b"]);
    let comma = CsvOptions { delimiter: Some(b','), ..CsvOptions::default() };
    assert_eq!(read("a;b\n3;4\n", comma).unwrap().names(), ["a;b"]);
    match read("a|b\n1|2|3\n", options) {
        Err(error @ Error::Ragged { line: 2, expected: 2, found: 3, .. }) => {
            let message = error.to_string();
            assert!(message.contains("`|`") && message.contains("--delimiter"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn decimal_commas_are_read_when_told() {
    let text = "a;b\n1,5;2\n-3,25e1;\n";
    assert!(matches!(&table(text).unwrap().columns[0].values, Values::Strings(_)));
    let options = CsvOptions { decimal_comma: true, ..CsvOptions::default() };
    let read = read(text, options).unwrap();
    assert_eq!(read.numbers("a").unwrap(), [1.5, -32.5]);
    assert_eq!(read.columns[1].missing(), 1);
}

#[test]
fn byte_order_marks_and_old_line_ends_do_no_harm() {
    let plain = table(PLAIN).unwrap();
    let marked = format!("\u{feff}{}", PLAIN.replace("size", "\"size\""));
    assert_eq!(table(&marked).unwrap(), plain);
    assert_eq!(table(PLAIN.replace('\n', "\r")).unwrap(), plain);
    assert_eq!(table(marked.replace('\n', "\r")).unwrap(), plain);
    // More than the part of the file that is looked at first.
    let many = format!("x,y\r{}", "1.25,2\r".repeat(20_000));
    let read = table(&many).unwrap();
    assert_eq!((read.rows, read.line(19_999)), (20_000, 20_001));
    let wide = table(b"\xff\xfea\x00,\x00b\x00\n\x00").unwrap_err().to_string();
    assert!(wide.contains("UTF-16"), "{wide}");
    let nul = table("a,b\n1,2\n3,4\0\n").unwrap_err().to_string();
    assert!(nul.contains("line 3") && nul.contains("NUL"), "{nul}");
}

#[test]
fn an_unclosed_quote_is_named_where_it_is_opened() {
    for (text, line, column) in [
        ("a,b\n1,2\n3,\"x\n4,y\n5,z\n", 3, "b"),
        ("a,b\n1,2\n\n\"3,x", 4, "a"),
        ("a,b\n\"1\n\",\"2\n", 3, "b"),
        ("a,b\n1,2\n3,\"", 3, "b"),
    ] {
        let message = table(text).unwrap_err().to_string();
        let place = format!("line {line}, column `{column}`: a quote is opened and never closed");
        assert!(message.contains(&place), "{text:?}: {message}");
    }
    let header = table("a,\"b\n1,2\n").unwrap_err().to_string();
    assert!(header.contains("line 1: a quote is opened"), "{header}");
    assert_eq!(table("a,b\n1,\"x\n\"").unwrap().lines, [2], "a closed one at the end of the file");
}

#[test]
fn words_for_missing_values_are_known() {
    let words = ["", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "?", "#N/A", "-", "none"];
    let rows: String = words.iter().map(|word| format!("1,{word}\n")).collect();
    let read = table(format!("a,b\n{rows}2,3\n")).unwrap();
    assert_eq!(read.columns[1].missing(), words.len());
    assert!(matches!(&read.columns[1].values, Values::Numbers(_)));
    // Words that may be categories are not missing in text.
    let read = table(format!("a,b\n{rows}2,x\n")).unwrap();
    assert_eq!(read.columns[1].missing(), words.len() - 2);
}
