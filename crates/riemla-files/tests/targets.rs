//! Targets of several columns, counts, labels, and weights of rows.

use riemla::data::{Dataset, Targets};
use riemla_files::encoding::{Label, Tally, Target, TargetNumber};
use riemla_files::table::read_table_from;
use riemla_files::{ColumnKinds, Encoding, EncodingOptions, Error, ReadOptions, Result, Source, Table, Task};

fn table(text: &str) -> Result<Table> {
    let source =
        Source::from_reader("table", std::io::Cursor::new(text.to_string()), ReadOptions::default())?;
    read_table_from(source, &ColumnKinds::default())
}

fn fit(text: &str, task: Task, target: &str, weights: Option<&str>) -> Result<(Encoding, Dataset)> {
    let (target, weights) = (Some(target.to_string()), weights.map(str::to_string));
    let options = EncodingOptions { target, weights, ..EncodingOptions::new(task) };
    let table = table(text)?;
    let (encoding, _) = Encoding::fit(&table, &options)?;
    let data = encoding.training_dataset(&table, &mut Tally::default())?;
    // Files say the same.
    let json = serde_json::to_string(&encoding).expect("writes");
    assert_eq!(serde_json::from_str::<Encoding>(&json).expect("reads"), encoding);
    Ok((encoding, data))
}

fn values(data: &Dataset) -> (&[f64], usize) {
    match data.targets() {
        Targets::Values { values, outputs } => (values, *outputs),
        Targets::Classes(_) => panic!("classes"),
    }
}

#[test]
fn several_numbers_have_a_scale_each() {
    let (encoding, data) = fit("x,a,b\n1,10,5\n2,30,5\n", Task::Regression, "a, b", None).unwrap();
    let number = |column: &str, mean, std| TargetNumber { column: column.into(), mean, std };
    let columns = vec![number("a", 20.0, 10.0), number("b", 5.0, 1.0)];
    assert_eq!(encoding.target, Target::Values { columns });
    assert_eq!(values(&data), (&[-1.0, 0.0, 1.0, 0.0][..], 2));
    assert_eq!(encoding.columns(true), ["x", "a", "b"]);
    // A column may have a comma in its name.
    let (encoding, _) = fit("x,\"a,b\"\n1,2\n2,3\n", Task::Regression, "a,b", None).unwrap();
    assert_eq!(encoding.target_columns(), ["a,b"]);
    let error = fit("x,a,b\n1,u,2\n2,v,3\n", Task::Classification, "a,b", None).unwrap_err();
    assert!(error.to_string().contains("a class is one column"), "{error}");
    assert!(matches!(fit("x,a\n1,2\n2,3\n", Task::Regression, "a,c", None), Err(Error::Columns { .. })));
    assert!(fit("x,a\n1,2\n2,3\n", Task::Regression, "a,a", None).is_err());
}

#[test]
fn counts_are_whole_and_not_negative() {
    let (encoding, data) = fit("x,a\n1,0\n2,7\n", Task::Counts, "a", None).unwrap();
    assert_eq!(encoding.target, Target::Counts { columns: vec!["a".into()] });
    assert_eq!(values(&data), (&[0.0, 7.0][..], 1));
    assert!(encoding.target_scales().is_empty());
    for wrong in ["-1", "0.5"] {
        let error = fit(&format!("x,a\n1,0\n2,{wrong}\n"), Task::Counts, "a", None).unwrap_err();
        assert!(matches!(error, Error::Cell { line: 3, .. }), "{error}");
    }
}

#[test]
fn labels_have_two_values() {
    let text = "x,a,b\n1,0,yes\n2,0,no\n3,0,yes\n";
    let (encoding, data) = fit(text, Task::Labels, "a,b", None).unwrap();
    let label = |column: &str, no: &str, yes: &str, text| Label {
        column: column.into(),
        no: no.into(),
        yes: yes.into(),
        text,
    };
    let columns = vec![label("a", "0", "1", false), label("b", "no", "yes", true)];
    assert_eq!(encoding.target, Target::Labels { columns });
    assert_eq!(values(&data), (&[0.0, 1.0, 0.0, 0.0, 0.0, 1.0][..], 2));
    let later = table("x,a,b\n1,1,maybe\n").unwrap();
    let error = encoding.dataset(&later, &mut Tally::default()).unwrap_err();
    assert!(error.to_string().contains("maybe"), "{error}");
    for wrong in ["x,a\n1,0\n2,2\n", "x,a\n1,u\n2,v\n3,w\n", "x,a\n1,u\n2,u\n"] {
        assert!(matches!(fit(wrong, Task::Labels, "a", None), Err(Error::Column { .. })), "{wrong}");
    }
}

#[test]
fn weights_are_no_feature_and_count_as_rows() {
    let weighted = "x,a,w\n1,10,2\n4,40,1\n9,90,0\n";
    let repeated = "x,a\n1,10\n1,10\n4,40\n";
    let (encoding, data) = fit(weighted, Task::Regression, "a", Some("w")).unwrap();
    let (other, _) = fit(repeated, Task::Regression, "a", None).unwrap();
    assert_eq!((&encoding.features, &encoding.target), (&other.features, &other.target));
    assert_eq!(encoding.weights.as_deref(), Some("w"));
    assert_eq!(data.weights(), Some(&[2.0, 1.0, 0.0][..]));
    // Later tables need no weights.
    let later = encoding.dataset(&table(repeated).unwrap(), &mut Tally::default()).unwrap();
    assert_eq!(later.weights(), None);
    // The last column that is not the weights is the target.
    let options = EncodingOptions { weights: Some("w".into()), ..EncodingOptions::new(Task::Regression) };
    let (last, _) = Encoding::fit(&table(weighted).unwrap(), &options).unwrap();
    assert_eq!(last.target_columns(), ["a"]);
    for wrong in ["x,a,w\n1,10,-2\n4,40,1\n", "x,a,w\n1,10,0\n4,40,0\n", "x,a,w\n1,10,\n4,40,1\n"] {
        assert!(fit(wrong, Task::Regression, "a", Some("w")).is_err(), "{wrong}");
    }
    assert!(fit(weighted, Task::Regression, "w", Some("w")).is_err());
}
