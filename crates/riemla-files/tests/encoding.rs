//! From tables to data sets: scales, categories, missing values, and columns that are not what they seem.

use riemla::data::Dataset;
use riemla_files::encoding::{
    Encoding, EncodingOptions, Feature, MOST_CATEGORIES, MissingValues, Tally, Target, Task, remarks,
};
use riemla_files::table::{ColumnKinds, Table, read_table_from};
use riemla_files::{Error, ReadOptions, Result, Source};

fn table(text: &str) -> Result<Table> {
    let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
    read_table_from(Source::from_reader("data", bytes, ReadOptions::default())?, &ColumnKinds::default())
}

fn fit(text: &str, options: &EncodingOptions) -> Result<(Encoding, Vec<String>)> {
    Encoding::fit(&table(text)?, options)
}

fn classify(text: &str) -> Result<Encoding> {
    fit(text, &EncodingOptions::new(Task::Classification)).map(|(encoding, _)| encoding)
}

/// Applies an encoding to a table that is read as the encoding asks for.
fn later(encoding: &Encoding, text: &str) -> Result<Table> {
    let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
    read_table_from(Source::from_reader("later", bytes, ReadOptions::default())?, &encoding.kinds())
}

fn inputs(encoding: &Encoding, text: &str) -> Result<Vec<f64>> {
    encoding.inputs(&later(encoding, text)?, &mut Tally::default())
}

fn dataset(encoding: &Encoding, text: &str) -> Result<Dataset> {
    encoding.dataset(&later(encoding, text)?, &mut Tally::default())
}

const FLOWERS: &str = "length,width,kind\n1,2.5,lily\n3,2.5,\"rose, red\"\n5,2.5,lily\n";

#[test]
fn an_encoding_standardises_and_knows_its_classes() {
    let encoding = classify(FLOWERS).unwrap();
    assert_eq!(encoding.classes().unwrap(), ["lily", "rose, red"]);
    let data = dataset(&encoding, FLOWERS).unwrap();
    let end = 1.5f64.sqrt();
    let expected = [-end, 0.0, 0.0, 0.0, end, 0.0];
    assert!(data.inputs().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
    assert_eq!(data.labels().unwrap(), [0, 1, 0]);
    let json = serde_json::to_string(&encoding).unwrap();
    assert_eq!(serde_json::from_str::<Encoding>(&json).unwrap(), encoding);
    // Other order, no target; a constant column that is no longer constant.
    let inputs = inputs(&encoding, "width,length\n4.5,3\n").unwrap();
    assert_eq!(inputs, [0.0, 2.0]);
}

#[test]
fn integer_classes_sort_by_value_and_real_targets_decode() {
    let encoding = classify("x,y\n1,10\n2,-1\n3,9\n").unwrap();
    assert_eq!(encoding.classes().unwrap(), ["-1", "9", "10"]);
    assert!(matches!(classify("x,y\n1,0.5\n2,1\n"), Err(Error::Cell { line: 2, .. })));
    assert!(matches!(classify("x,y\n1,1\n2,1\n"), Err(Error::Column { .. })));
    let options = EncodingOptions { target: Some("x".into()), ..EncodingOptions::new(Task::Regression) };
    let encoding = fit("x,y\n10,1\n30,2\n", &options).unwrap().0;
    assert_eq!(encoding.target, Target::Value { column: "x".into(), mean: 20.0, std: 10.0 });
    assert_eq!(encoding.target_scales()[0].decode(-1.0), 10.0);
}

#[test]
fn later_tables_that_do_not_fit_are_refused() {
    let encoding = classify(FLOWERS).unwrap();
    let unknown = dataset(&encoding, "length,width,kind\n1,1,lily\n1,1,oak\n").unwrap_err();
    assert!(matches!(&unknown, Error::UnknownClass { line: 3, unknown, .. } if *unknown == ["oak"]));
    assert!(unknown.to_string().contains("`lily`, `rose, red`"));
    let columns = inputs(&encoding, "length,height,id\n1,1,7\n").unwrap_err();
    match &columns {
        Error::Columns { missing, .. } => assert_eq!(missing, &["width"]),
        other => panic!("{other}"),
    }
    let more = inputs(&encoding, "id,length,width\n7,1,1\n").unwrap();
    assert_eq!(more, inputs(&encoding, "length,width\n1,1\n").unwrap());
    let no_target = dataset(&encoding, "length,width\n1,1\n");
    assert!(matches!(no_target, Err(Error::Columns { missing, .. }) if missing == ["kind"]));
    let text = inputs(&encoding, "length,width\n1,1\nlong,1\n");
    assert!(matches!(text, Err(Error::Text { line: 3, .. })));
    let absent = EncodingOptions { target: Some("z".into()), ..EncodingOptions::new(Task::Regression) };
    assert!(matches!(fit(FLOWERS, &absent), Err(Error::Columns { .. })));
    let huge = classify("x,y\n1e308,0\n-1e308,1\n");
    assert!(matches!(huge, Err(Error::Column { .. })));
}

#[test]
fn text_features_become_one_input_per_category() {
    let encoding = classify("color,size,kind\nred,1,a\nblue,3,b\nred,2,a\n").unwrap();
    assert_eq!(encoding.width(), 3);
    let data = dataset(&encoding, "color,size,kind\nblue,2,b\nred,2,a\n").unwrap();
    assert_eq!(data.inputs(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let kinds = ColumnKinds { text: vec!["color".into(), "kind".into()], numbers: vec!["size".into()] };
    assert_eq!(encoding.kinds(), kinds);
    // A file of an earlier version is the same as one without the new choices.
    let json = serde_json::to_string(&encoding.features).unwrap();
    let features = r#"[{"type":"categories","column":"color","categories":["blue","red"]},"#;
    assert!(json.starts_with(features) && json.ends_with(r#""std":0.816496580927726}]"#), "{json}");
}

#[test]
fn unknown_categories_are_counted_and_change_nothing_else() {
    let encoding = classify("color,size,kind\nred,1,a\nblue,3,b\nred,2,a\n").unwrap();
    let table = later(&encoding, "color,size\nred,2\ngreen,2\nblue,2\ngrey,2\n").unwrap();
    let mut tally = Tally::default();
    let found = encoding.inputs(&table, &mut tally).unwrap();
    assert_eq!(found, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let notes = tally.notes();
    assert!(notes.len() == 1 && notes[0].contains("`color`: 2 unknown values"), "{notes:?}");
    assert!(notes[0].contains("`green` in line 3"), "{notes:?}");
    // In the target they are still refused.
    let target = dataset(&encoding, "color,size,kind\nred,2,c\n");
    assert!(matches!(target, Err(Error::UnknownClass { line: 2, .. })), "{target:?}");
}

#[test]
fn the_rarest_of_many_categories_share_an_input() {
    // Category k of 150 occurs once, those below 20 twice.
    let rows: String = (0..150).chain(0..20).map(|k| format!("n{k:03},{}\n", k % 2)).collect();
    let text = format!("name,y\n{rows}");
    let (encoding, notes) = fit(&text, &EncodingOptions::new(Task::Classification)).unwrap();
    assert!(notes[0].contains("150 different values") && notes[0].contains("--ignore name"), "{notes:?}");
    assert_eq!(encoding.width(), MOST_CATEGORIES);
    let Feature::Categories { categories, other: true, .. } = &encoding.features[0] else { panic!() };
    assert_eq!((categories.len(), categories[98].as_str()), (99, "n098"), "the frequent, then by letters");
    let mut tally = Tally::default();
    let table = later(&encoding, "name,y\nn000,1\nn120,1\nnew,1\n").unwrap();
    let found = encoding.inputs(&table, &mut tally).unwrap();
    let ones: Vec<usize> = (0..found.len()).filter(|i| found[*i] == 1.0).collect();
    assert_eq!(ones, [0, MOST_CATEGORIES + 99, 2 * MOST_CATEGORIES + 99]);
    assert!(tally.notes()[0].contains("2 unknown values treated as other"), "{:?}", tally.notes());
}

/// Twenty rows of numbers, one of which is replaced.
fn with_odd(entry: &str) -> String {
    let number = |k: usize| if k == 6 { format!("\"{entry}\"") } else { format!("{k}.5") };
    let rows: String = (0..20).map(|k| format!("{},{}\n", number(k), k % 2)).collect();
    format!("size,y\n{rows}")
}

#[test]
fn one_odd_entry_does_not_make_categories_of_numbers() {
    for entry in ["0x10", "1_000", "1,234.5", "oops", "12%", "2024-01-31"] {
        let Err(error @ Error::Cell { line: 8, .. }) = classify(&with_odd(entry)) else { panic!("{entry}") };
        let message = error.to_string();
        for part in ["data, line 8, column `size`", entry, "--ignore size", "--categorical size"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(remarks(&table(&with_odd(entry)).unwrap()).len(), 1, "{entry}");
    }
    let thousands = classify(&with_odd("1,234.5")).unwrap_err().to_string();
    assert!(thousands.contains("without separators"), "{thousands}");
    // Told that it is one of categories, it is.
    let categorical = vec!["size".to_string()];
    let options = EncodingOptions { categorical, ..EncodingOptions::new(Task::Classification) };
    assert_eq!(fit(&with_odd("oops"), &options).unwrap().0.width(), 20);
    let absent = EncodingOptions { categorical: vec!["seize".into()], ..options };
    assert!(matches!(fit(FLOWERS, &absent), Err(Error::Columns { .. })));
}

#[test]
fn few_numbers_among_text_are_noted() {
    let rows = |numbers: usize| -> String {
        (0..20)
            .map(|k| if k < 20 - numbers { format!("c{k},{}\n", k % 2) } else { format!("{k},{}\n", k % 2) })
            .collect()
    };
    let fit = |numbers| fit(&format!("x,y\n{}", rows(numbers)), &EncodingOptions::new(Task::Classification));
    assert!(fit(0).unwrap().1.is_empty());
    let notes = fit(17).unwrap().1;
    let said = notes[0].contains("17 of 20 values look like numbers") && notes[0].contains("`c0` in line 2");
    assert!(notes.len() == 1 && said, "{notes:?}");
    assert!(matches!(fit(18), Err(Error::Cell { line: 2, .. })), "nine of ten");
    // Below ten values all must agree.
    assert_eq!(classify("x,y\n1,a\n2,b\n3,a\nx,b\n").unwrap().width(), 4);
}

#[test]
fn dates_times_and_decimal_commas_are_refused() {
    for (entries, part) in [
        (["2024-01-31", "2024-02-01"], "date, time or duration"),
        (["31.1.2024", "1.2.2024"], "days since the first"),
        (["12:30", "12:45:10"], "date, time or duration"),
        (["P1DT2H", "-PT1.5S"], "date, time or duration"),
        (["3 days 01:00:00", "1 days"], "date, time or duration"),
        (["\"3,5\"", "\"4,25\""], "--decimal-comma"),
    ] {
        let text = format!("when,y\n{},a\n{},b\n", entries[0], entries[1]);
        let Err(error @ Error::Cell { line: 2, .. }) = classify(&text) else { panic!("{text}") };
        let message = error.to_string();
        assert!(message.contains(part) && message.contains("--ignore when"), "{part}: {message}");
    }
}

#[test]
fn numbers_can_be_declared_categories() {
    let options =
        EncodingOptions { categorical: vec!["code".into()], ..EncodingOptions::new(Task::Classification) };
    let kinds = ColumnKinds { text: vec!["code".into()], ..ColumnKinds::default() };
    let text = "code,y\n01,0\n1,1\nNA,0\n01,1\n";
    let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
    let source = Source::from_reader("data", bytes, ReadOptions::default()).unwrap();
    let encoding = Encoding::fit(&read_table_from(source, &kinds).unwrap(), &options).unwrap().0;
    assert_eq!(inputs(&encoding, "code\n01\n1\nNA\n").unwrap(), [1., 0., 0., 0., 1., 0., 0., 0., 1.]);
    // Numbers of files with types become text as they are written in CSV.
    let numbers = table("code,y\n7,0\n8,1\n").unwrap();
    let encoding = Encoding::fit(&numbers, &options).unwrap().0;
    assert_eq!(encoding.inputs(&numbers, &mut Tally::default()).unwrap(), [1.0, 0.0, 0.0, 1.0]);
}

const GAPS: &str = "size,color,y\n1,red,0\n,red,1\n3,?,0\n8,blue,1\n8,blue,0\n8,blue,1\n";

fn with_missing(missing: MissingValues) -> EncodingOptions {
    // All rows but three are held out: nothing may be taken from them.
    EncodingOptions { missing, rows: Some(vec![0, 1, 2]), ..EncodingOptions::new(Task::Classification) }
}

#[test]
fn missing_values_are_errors_unless_told() {
    let encoding = fit(GAPS, &with_missing(MissingValues::Error)).unwrap().0;
    let error = dataset(&encoding, GAPS).unwrap_err();
    assert!(matches!(&error, Error::Missing { line: 3, column, .. } if column == "size"), "{error}");
    assert!(error.to_string().contains("--missing impute"), "{error}");
    let color = inputs(&encoding, "size,color\n1,red\n1,NA\n").unwrap_err();
    assert!(matches!(&color, Error::Missing { line: 3, column, .. } if column == "color"), "{color}");
    let target = classify("x,y\n1,a\n2,\n3,b\n").unwrap_err().to_string();
    assert!(target.contains("line 3") && target.contains("the target is missing"), "{target}");
    let empty = classify("x,z,y\n1,,a\n2,NA,b\n").unwrap_err().to_string();
    assert!(empty.contains("`z`") && empty.contains("all its values are missing"), "{empty}");
}

#[test]
fn missing_values_are_imputed_from_the_rows_trained_on() {
    let encoding = fit(GAPS, &with_missing(MissingValues::Impute)).unwrap().0;
    let mut tally = Tally::default();
    let data = encoding.dataset(&later(&encoding, GAPS).unwrap(), &mut tally).unwrap();
    // Mean 2 and deviation 1 of the numbers 1 and 3; `red` is the most frequent there.
    let expected = [-1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0];
    assert_eq!(data.inputs(), [expected, [6.0, 1.0, 0.0].repeat(3).try_into().unwrap()].concat());
    assert_eq!(
        tally.notes(),
        ["column `color`: 1 missing value imputed", "column `size`: 1 missing value imputed"]
    );
    // The model keeps it.
    let json = serde_json::to_string(&encoding).unwrap();
    let read: Encoding = serde_json::from_str(&json).unwrap();
    assert_eq!(read, encoding);
    assert_eq!(inputs(&read, "size,color\nNA,null\n").unwrap(), [0.0, 0.0, 1.0]);
    let plain = EncodingOptions { standardize: false, ..with_missing(MissingValues::Impute) };
    assert_eq!(inputs(&fit(GAPS, &plain).unwrap().0, "size,color\n,red\n").unwrap(), [2.0, 0.0, 1.0]);
}

#[test]
fn indicators_are_inputs_of_columns_with_missing_values() {
    let text = "size,full,color,y\n1,1,red,0\n,2,red,1\n3,3,?,0\n8,2,blue,1\n";
    let encoding = fit(text, &with_missing(MissingValues::Indicator)).unwrap().0;
    // size and its indicator, full, blue, red, no color
    assert_eq!(encoding.width(), 6);
    let found = inputs(&encoding, "size,full,color\n,2,\n2,,blue\n").unwrap();
    assert_eq!(found, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn encodings_that_contradict_themselves_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let encoding = fit("x,c,y\n1,a,0\n2,b,1\n", &with_missing(MissingValues::Impute)).unwrap().0;
    let network = riemla::nn::NetworkSpec::mlp(&[3, 2], riemla::nn::Activation::Tanh);
    let theta = riemla::nn::Network::new(&network).unwrap().initialize(1);
    let model = riemla_files::Model {
        network,
        likelihood: riemla::objective::Likelihood::Categorical,
        prior_precision: riemla::objective::PriorPrecision::Scalar(1.0),
        encoding: Some(encoding),
        training: None,
        theta,
    };
    let path = scratch.path().join("model");
    model.write(&path, riemla_files::Existing::Refuse).unwrap();
    assert_eq!(riemla_files::Model::read(&path).unwrap(), model);
    let json = std::fs::read_to_string(path.join("model.json")).unwrap();
    for (from, to) in [("\"fill\": \"a\"", "\"fill\": \"z\""), ("\"fill\": 1.5", "\"fill\": 1e999")] {
        assert!(json.contains(from), "{from}: {json}");
        std::fs::write(path.join("model.json"), json.replace(from, to)).unwrap();
        assert!(riemla_files::Model::read(&path).is_err(), "{to}");
    }
}
