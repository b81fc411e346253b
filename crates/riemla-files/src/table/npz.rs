//! NPZ archives: several NPY arrays with the same number of rows, as one table.

use std::io::{Cursor, Read as _};

use zip::result::ZipError;

use super::npy::Array;
use super::{Table, npy};
use crate::open::{ReadOptions, Source};
use crate::{Error, Result};

/// All arrays of an NPZ file, by name.
pub fn read_arrays(mut source: Source) -> Result<Vec<(String, Array)>> {
    let file = source.name().to_string();
    let options = source.options;
    let max_bytes = options.max_bytes;
    let bytes = source.rest()?;
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| zip_error(&file, &error))?;
    let mut arrays = Vec::new();
    let mut left = max_bytes;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| zip_error(&file, &error))?;
        let name =
            entry.name().map_err(|error| zip_error(&file, &error))?.trim_end_matches(".npy").to_string();
        // The limit holds for the whole archive. Reading stops there, whatever the headers say.
        let mut data = Vec::new();
        entry.take(left.saturating_add(1)).read_to_end(&mut data).map_err(|error| {
            Error::format(&file, "NPZ", format!("`{name}`: {error}; copy or download it again"))
        })?;
        let too_large = Error::TooLarge { file: file.clone(), limit: max_bytes };
        left = left.checked_sub(data.len() as u64).ok_or(too_large)?;
        let options = ReadOptions { max_bytes: data.len() as u64, ..options };
        let array = npy::read_array(&mut Source::plain(file.clone(), data, options), &name)?;
        arrays.push((name, array));
    }
    Ok(arrays)
}

/// Reads an NPZ file. An array `x` of one dimension becomes the column `x`, one of more
/// dimensions the columns `x_0`, `x_1`, ….
pub fn read_table(source: Source) -> Result<Table> {
    let file = source.name().to_string();
    let max_columns = source.options.max_columns;
    let mut table = Table::empty(&file);
    for (index, (name, array)) in read_arrays(source)?.into_iter().enumerate() {
        let rows = npy::rows(&file, &name, &array)?;
        if index > 0 && rows != table.rows {
            let first = table.columns.first().map_or("", |column| column.name.as_str());
            let problem = format!("`{name}` has {rows} rows, but `{first}` has {}", table.rows);
            return Err(Error::format(&file, "NPZ", problem));
        }
        table.rows = rows;
        let flat = array.dims.len() == 1;
        let title = |j| if flat { name.clone() } else { format!("{name}_{j}") };
        table.columns.extend(npy::columns(&array, rows, title));
        if table.columns.len() > max_columns {
            return Err(Error::format(&file, "NPZ", format!("more than {max_columns} columns")));
        }
    }
    let mut seen = std::collections::HashSet::new();
    if let Some(column) = table.columns.iter().find(|column| !seen.insert(&column.name)) {
        return Err(Error::format(&file, "NPZ", format!("two columns are called `{}`", column.name)));
    }
    if table.columns.is_empty() {
        return Err(Error::Empty { file, expected: "arrays were expected" });
    }
    Ok(table)
}

fn zip_error(file: &str, error: &ZipError) -> Error {
    Error::format(file, "NPZ", format!("{error}; save it with numpy.savez or numpy.savez_compressed"))
}
