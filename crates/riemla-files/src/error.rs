//! The one error of this crate: which file, where in it, what is wrong, what to do.

use std::path::Path;

use crate::words::{advice, as_safetensors, few, list};

/// What went wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{file}: cannot {action}: {source}{}", advice(source))]
    Io {
        /// Which file.
        file: String,
        /// What was tried.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Something is already there.
    #[error("{file} already exists; choose another name, remove it, or allow replacing it")]
    Exists {
        /// Which file or directory.
        file: String,
    },
    /// Something is there that is never replaced.
    #[error("{file} cannot be replaced: {reason}; nothing was changed: {remedy}")]
    Protected {
        /// Which file or directory.
        file: String,
        /// Why not.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Another process is writing the same file.
    #[error("{file} is in use by another process; wait until it has ended, or write elsewhere")]
    Busy {
        /// Which file.
        file: String,
    },
    /// The content is not of the expected kind.
    #[error("{file} is not a valid {format} file: {problem}")]
    Format {
        /// Which file.
        file: String,
        /// The format that was expected.
        format: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// Fewer bytes than the file itself announces.
    #[error(
        "{file} is truncated: {what} needs {expected} bytes, but only {found} are left; copy or download \
         it again"
    )]
    Truncated {
        /// Which file.
        file: String,
        /// Which part.
        what: String,
        /// Bytes announced.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// A file of riemla's that is not as it was written.
    #[error("{file} is damaged: {problem}; {remedy}")]
    Damaged {
        /// Which file.
        file: String,
        /// What shows it.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// More bytes, after decompression, than the caller allows.
    #[error(
        "{file} has more than {limit} bytes after decompression; raise the limit with --max-size if the \
         file is meant to be this large"
    )]
    TooLarge {
        /// Which file.
        file: String,
        /// The limit.
        limit: u64,
    },
    /// No data.
    #[error("{file} is empty: {expected}")]
    Empty {
        /// Which file.
        file: String,
        /// What should have been there.
        expected: &'static str,
    },
    /// A row with another number of fields than the header.
    #[error(
        "{file}, line {line}: {found} fields, but the header has {expected}; quote fields that contain \
         {delimiter}, or set another separator with --delimiter"
    )]
    Ragged {
        /// Which file.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// Columns of the header.
        expected: usize,
        /// Fields of this row.
        found: usize,
        /// What fields are separated by.
        delimiter: String,
    },
    /// A feature without a value, in a model that knows nothing of missing values.
    #[error(
        "{file}, line {line}, column `{column}`: missing value; fill it in, remove the row, or train with \
         --missing impute or --missing indicator"
    )]
    Missing {
        /// Which file.
        file: String,
        /// Line number, from 1 (row number for files without lines).
        line: u64,
        /// Name of the column.
        column: String,
    },
    /// A cell that cannot be used as it is.
    #[error("{file}, line {line}, column `{column}`: {problem}")]
    Cell {
        /// Which file.
        file: String,
        /// Line number, from 1 (row number for files without lines).
        line: u64,
        /// Name of the column.
        column: String,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// An infinity.
    #[error(
        "{file}, line {line}, column `{column}`: `{value}` is not a finite number; correct it or remove the row"
    )]
    NotFinite {
        /// Which file.
        file: String,
        /// Line number, from 1 (row number for files without lines).
        line: u64,
        /// Name of the column.
        column: String,
        /// The entry.
        value: String,
    },
    /// Text where a number is needed.
    #[error(
        "{file}, line {line}, column `{column}`: `{value}` is not a number, but this column must contain \
         numbers: correct it, or train without the column"
    )]
    Text {
        /// Which file.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// The entry.
        value: String,
    },
    /// Columns that are needed but not there.
    #[error("{file}: missing column {}; its columns are: {}", list(missing), list(present))]
    Columns {
        /// Which file.
        file: String,
        /// Needed but not there.
        missing: Vec<String>,
        /// All that are there.
        present: Vec<String>,
    },
    /// A column that cannot be used as it is.
    #[error("{file}, column `{column}`: {problem}")]
    Column {
        /// Which file.
        file: String,
        /// Name of the column.
        column: String,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// Classes or categories that the model was not trained on.
    #[error(
        "{file}, line {line}, column `{column}`: unknown {}; the model knows {}; \
         remove these rows, or train with them",
        list(unknown),
        list(known)
    )]
    UnknownClass {
        /// Which file.
        file: String,
        /// Line of the first, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// All unknown ones of the file.
        unknown: Vec<String>,
        /// The ones of the model.
        known: Vec<String>,
    },
    /// A label outside the expected range.
    #[error(
        "{file}: label {label} of item {item} is outside {first} to {last}; give the number of classes and the first label"
    )]
    Label {
        /// Which file.
        file: String,
        /// Which item, from 0.
        item: usize,
        /// The label.
        label: u8,
        /// Smallest allowed.
        first: usize,
        /// Largest allowed.
        last: usize,
    },
    /// Two files that belong together do not.
    #[error("{file} and {other} do not belong together: {problem}")]
    Mismatch {
        /// One file.
        file: String,
        /// The other.
        other: String,
        /// What differs, and the remedy.
        problem: String,
    },
    /// A number type that cannot be read.
    #[error("{file}: `{array}` has type {dtype}, but only {accepted} can be read; convert it first")]
    Dtype {
        /// Which file.
        file: String,
        /// Array or tensor name.
        array: String,
        /// Type found.
        dtype: String,
        /// Types that can be read.
        accepted: &'static str,
    },
    /// Tensors that do not fit what is needed: every mismatch.
    #[error(
        "{file}: its tensors do not match the network\n{}\n`riemla inspect {file}` lists its tensors",
        few(problems)
    )]
    Tensors {
        /// Which file.
        file: String,
        /// One line per mismatch, each naming its tensor.
        problems: Vec<String>,
    },
    /// A correct model that holds more than riemla has: every obstacle.
    #[error(
        "{file} cannot be imported\n{}\n`riemla inspect {file}` lists all that is in the way and what can be imported",
        few(problems)
    )]
    Unsupported {
        /// Which file.
        file: String,
        /// One line per obstacle, each naming its place.
        problems: Vec<String>,
        /// What can be imported; empty if that does not matter.
        supported: &'static str,
    },
    /// A file of `torch.save`: a pickle, which could run any program when it is opened.
    #[error(
        "{file} is a pickle of PyTorch, which is not read: opening one can run any program. Convert it in Python:\n  \
         import torch; from safetensors.torch import save_file\n  \
         save_file(torch.load(\"{file}\", weights_only=True), \"{}\")  # of a whole model: its .state_dict()",
        as_safetensors(file)
    )]
    Pickle {
        /// Which file.
        file: String,
    },
    /// JSON that is not JSON, or lacks or misspells a field.
    #[error("{file}, line {line}, column {column}: {message}")]
    Json {
        /// Which file.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// Position in the line.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// TOML that is not TOML, or lacks or misspells a field.
    #[error("{file}, line {line}, column {column}: {message}")]
    Toml {
        /// Which file.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// Position in the line.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// Written by another version of the format.
    #[error(
        "{file} has format version {found}, but this program reads version {supported}; use the version of \
         riemla that wrote it, or create the file again"
    )]
    Version {
        /// Which file.
        file: String,
        /// Version found.
        found: u64,
        /// Version that can be read.
        supported: u64,
    },
    /// The content is well formed but makes no sense to the library.
    #[error("{file}: {source}")]
    Content {
        /// Which file.
        file: String,
        /// The library's reason.
        source: riemla::Error,
    },
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn format(file: &str, format: &'static str, problem: impl Into<String>) -> Self {
        Self::Format { file: file.into(), format, problem: problem.into() }
    }

    pub(crate) fn content(file: &str) -> impl FnOnce(riemla::Error) -> Self + '_ {
        move |source| Self::Content { file: file.into(), source }
    }

    pub(crate) fn io<'a>(file: &'a str, action: &'static str) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |source| crate::open::read_error(file, action, source)
    }

    pub(crate) fn json(file: &str) -> impl FnOnce(serde_json::Error) -> Self + '_ {
        move |error| Self::Json {
            file: file.into(),
            line: error.line(),
            column: error.column(),
            message: error.to_string(),
        }
    }
}

/// How a path is written in messages.
pub(crate) fn name(path: &Path) -> String {
    path.display().to_string()
}
