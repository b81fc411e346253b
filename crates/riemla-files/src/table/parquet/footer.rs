//! The footer of a Parquet file: its columns, and where their pages are.

use super::thrift::{Kind, Reader, Result};

/// How the numbers or texts of a column are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Physical {
    Boolean,
    Int32,
    Int64,
    Float,
    Double,
    Text,
    Float16,
}

/// A column of the table.
#[derive(Debug, Clone)]
pub struct Field {
    pub name: String,
    pub physical: Physical,
    /// Whether integers have no sign.
    pub unsigned: bool,
    /// Whether there may be missing values.
    pub optional: bool,
}

/// The part of a column in one group of rows.
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    pub codec: i64,
    pub values: usize,
    pub start: usize,
    pub length: usize,
    dictionary: Option<usize>,
    elsewhere: bool,
}

/// A group of rows: one chunk per column.
#[derive(Debug, Clone, Default)]
pub struct Group {
    pub chunks: Vec<Chunk>,
    pub rows: usize,
}

/// What the footer says.
#[derive(Debug, Default)]
pub struct Footer {
    pub fields: Vec<Field>,
    pub groups: Vec<Group>,
    pub rows: usize,
}

/// Reads the footer of a whole file.
pub fn footer(bytes: &[u8]) -> Result<Footer> {
    let encrypted = bytes.ends_with(b"PARE");
    if encrypted || !bytes.ends_with(b"PAR1") || bytes.len() < 12 {
        let problem =
            if encrypted { "it is encrypted" } else { "its end is missing; copy or download it again" };
        return Err(problem.into());
    }
    let end = bytes.len() - 8;
    let length = bytes[end..].first_chunk().map_or(0, |length| u32::from_le_bytes(*length)) as usize;
    let start =
        end.checked_sub(length).filter(|start| *start >= 4).ok_or("its footer is longer than the file")?;
    let mut footer = Footer::default();
    let mut elements = Vec::new();
    Reader::new(&bytes[start..end]).fields(|reader, id, kind| {
        match (id, kind) {
            (2, Kind::List) => reader.list(|reader, _| {
                elements.push(element(reader)?);
                Ok(())
            })?,
            (3, Kind::Integer) => footer.rows = reader.size()?,
            (4, Kind::List) => reader.list(|reader, _| {
                footer.groups.push(group(reader)?);
                Ok(())
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    footer.fields = fields(elements)?;
    check(&footer, start)?;
    Ok(footer)
}

/// Every chunk must be inside the file, and no byte may be counted twice: then the work is bounded
/// by the file.
fn check(footer: &Footer, end: usize) -> Result<()> {
    let mut total = 0usize;
    let mut rows = 0usize;
    for group in &footer.groups {
        rows = rows.saturating_add(group.rows);
        if group.chunks.len() != footer.fields.len() {
            return Err(format!("a group has {} of {} columns", group.chunks.len(), footer.fields.len()));
        }
        for chunk in &group.chunks {
            total = total.saturating_add(chunk.length);
            let inside =
                chunk.start >= 4 && chunk.start.checked_add(chunk.length).is_some_and(|last| last <= end);
            if !inside || chunk.elsewhere {
                return Err("the pages of a column are not in this file".into());
            }
            if chunk.values != group.rows {
                return Err(format!("a column has {} values for {} rows", chunk.values, group.rows));
            }
        }
    }
    if total > end || rows != footer.rows {
        return Err(format!(
            "its groups contain {rows} rows in {total} bytes, but the footer announces {}",
            footer.rows
        ));
    }
    Ok(())
}

/// One element of the schema.
#[derive(Default)]
struct Element {
    name: String,
    physical: Option<i64>,
    length: i64,
    repetition: i64,
    children: i64,
    converted: Option<i64>,
    /// Number of the logical type, and whether an integer has no sign.
    logical: Option<i64>,
    unsigned: bool,
}

fn element(reader: &mut Reader<'_>) -> Result<Element> {
    let mut element = Element::default();
    reader.fields(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::Integer) => element.physical = Some(reader.integer()?),
            (2, Kind::Integer) => element.length = reader.integer()?,
            (3, Kind::Integer) => element.repetition = reader.integer()?,
            (4, Kind::Binary) => element.name = String::from_utf8_lossy(reader.binary()?).into_owned(),
            (5, Kind::Integer) => element.children = reader.integer()?,
            (6, Kind::Integer) => element.converted = Some(reader.integer()?),
            (10, Kind::Struct) => reader.fields(|reader, id, kind| {
                element.logical = Some(id);
                if (id, kind) != (10, Kind::Struct) {
                    return Ok(false);
                }
                reader.fields(|_, id, kind| {
                    if let (2, Kind::Bool(signed)) = (id, kind) {
                        element.unsigned = !signed;
                    }
                    Ok(matches!(kind, Kind::Bool(_)))
                })?;
                Ok(true)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(element)
}

/// The columns, if the schema is flat.
fn fields(elements: Vec<Element>) -> Result<Vec<Field>> {
    let mut elements = elements.into_iter();
    elements.next().ok_or("it has no schema")?;
    let mut fields = Vec::new();
    for element in elements {
        let name = element.name.clone();
        if element.children > 0 || element.repetition > 1 || element.physical.is_none() {
            return Err(format!("column `{name}` is nested; flatten it first"));
        }
        let physical = physical(&element).map_err(|found| {
            format!(
                "column `{name}` contains {found}; only numbers, booleans and text can be read: convert it"
            )
        })?;
        let unsigned = element.unsigned || matches!(element.converted, Some(11..=14));
        fields.push(Field { name, physical, unsigned, optional: element.repetition == 1 });
    }
    Ok(fields)
}

/// How a column is stored; what it holds if it cannot be read.
fn physical(element: &Element) -> std::result::Result<Physical, &'static str> {
    match (element.converted, element.logical) {
        (Some(5), _) | (_, Some(5)) => return Err("decimals"),
        (Some(6), _) | (_, Some(6)) => return Err("dates"),
        (Some(7 | 8), _) | (_, Some(7)) => return Err("times of day"),
        (Some(9 | 10), _) | (_, Some(8)) => return Err("times"),
        (Some(20 | 21), _) | (_, Some(13 | 14)) => return Err("binary data"),
        (_, Some(11)) => return Err("only missing values"),
        _ => {}
    }
    match (element.physical, element.logical) {
        (Some(0), _) => Ok(Physical::Boolean),
        (Some(1), _) => Ok(Physical::Int32),
        (Some(2), _) => Ok(Physical::Int64),
        (Some(4), _) => Ok(Physical::Float),
        (Some(5), _) => Ok(Physical::Double),
        (Some(6), _) => Ok(Physical::Text),
        (Some(7), Some(15)) if element.length == 2 => Ok(Physical::Float16),
        (Some(3), _) => Err("times of 96 bits"),
        _ => Err("binary data of fixed length"),
    }
}

fn group(reader: &mut Reader<'_>) -> Result<Group> {
    let mut group = Group::default();
    reader.fields(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::List) => reader.list(|reader, _| {
                group.chunks.push(chunk(reader)?);
                Ok(())
            })?,
            (3, Kind::Integer) => group.rows = reader.size()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(group)
}

fn chunk(reader: &mut Reader<'_>) -> Result<Chunk> {
    let mut chunk = Chunk { elsewhere: true, ..Chunk::default() };
    let mut other_file = false;
    reader.fields(|reader, id, kind| {
        match (id, kind) {
            (1, Kind::Binary) => other_file = !reader.binary()?.is_empty(),
            (3, Kind::Struct) => {
                chunk.elsewhere = false;
                reader.fields(|reader, id, kind| place(reader, id, kind, &mut chunk))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    chunk.elsewhere |= other_file;
    // Some programs write 0 for "no dictionary".
    if let Some(dictionary) = chunk.dictionary.filter(|place| (4..chunk.start).contains(place)) {
        chunk.start = dictionary;
    }
    Ok(chunk)
}

fn place(reader: &mut Reader<'_>, id: i64, kind: Kind, chunk: &mut Chunk) -> Result<bool> {
    match (id, kind) {
        (4, Kind::Integer) => chunk.codec = reader.integer()?,
        (5, Kind::Integer) => chunk.values = reader.size()?,
        (7, Kind::Integer) => chunk.length = reader.size()?,
        (9, Kind::Integer) => chunk.start = reader.size()?,
        (11, Kind::Integer) => chunk.dictionary = Some(reader.size()?),
        _ => return Ok(false),
    }
    Ok(true)
}
