//! Encodings of Parquet pages, from bytes to numbers and texts.

use super::footer::{Field, Physical};
use super::thrift::{Reader, Result};
use crate::table::Values;

/// Entries of a column, or of its dictionary.
#[derive(Debug, Clone, PartialEq)]
pub enum Entries {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

impl Entries {
    /// No entries of a column.
    pub fn new(physical: Physical) -> Self {
        if physical == Physical::Text { Entries::Texts(vec![]) } else { Entries::Numbers(vec![]) }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Entries::Numbers(values) => values.len(),
            Entries::Texts(values) => values.len(),
        }
    }

    /// Adds entry `index` of a dictionary; returns the bytes it takes.
    pub fn push_from(&mut self, dictionary: &Self, index: usize) -> Result<u64> {
        let missing =
            || format!("an entry refers to number {index} of {} in its dictionary", dictionary.len());
        match (self, dictionary) {
            (Entries::Numbers(own), Entries::Numbers(other)) => {
                own.push(*other.get(index).ok_or_else(missing)?);
                Ok(8)
            }
            (Entries::Texts(own), Entries::Texts(other)) => {
                let text = other.get(index).ok_or_else(missing)?;
                own.push(text.clone());
                Ok(text_size(text))
            }
            _ => Err("a dictionary has another type than its column".into()),
        }
    }
}

impl Entries {
    /// Memory a missing value takes.
    pub fn gap_size(&self) -> u64 {
        match self {
            Entries::Numbers(_) => 8,
            Entries::Texts(_) => text_size(""),
        }
    }

    /// Puts missing values between the entries from `start` on, where `there` is false.
    pub fn spread(&mut self, start: usize, there: &[bool]) {
        match self {
            Entries::Numbers(values) => spread(values, start, there, || f64::NAN),
            Entries::Texts(values) => spread(values, start, there, String::new),
        }
    }
}

fn spread<T>(values: &mut Vec<T>, start: usize, there: &[bool], gap: impl Fn() -> T) {
    let mut found = values.split_off(start).into_iter();
    values.extend(there.iter().map(|there| there.then(|| found.next()).flatten().unwrap_or_else(&gap)));
}

impl From<Entries> for Values {
    fn from(entries: Entries) -> Self {
        match entries {
            Entries::Numbers(numbers) => Values::Numbers(numbers),
            Entries::Texts(texts) => Values::Strings(texts),
        }
    }
}

/// Memory a text takes.
pub fn text_size(text: &str) -> u64 {
    (text.len() + std::mem::size_of::<String>()) as u64
}

/// Runs of equal values and packed bits in turn, `width` bits each; calls `each` for `count` values.
pub fn hybrid(bytes: &[u8], width: u32, count: usize, mut each: impl FnMut(u64) -> Result<()>) -> Result<()> {
    if width > 32 {
        return Err(format!("entries have {width} bits"));
    }
    let mut reader = Reader::new(bytes);
    let mut left = count;
    while left > 0 {
        let header = reader.varint().map_err(|_| "a page has fewer entries than it announces")?;
        if header & 1 == 0 {
            let mut value = [0; 8];
            let bytes = reader.take(width.div_ceil(8) as usize)?;
            value[..bytes.len()].copy_from_slice(bytes);
            let run = left.min(usize::try_from(header >> 1).unwrap_or(usize::MAX));
            if run == 0 {
                return Err("a run of entries is empty".into());
            }
            for _ in 0..run {
                each(u64::from_le_bytes(value))?;
            }
            left -= run;
        } else {
            let groups = usize::try_from(header >> 1).unwrap_or(usize::MAX).min(left.div_ceil(8));
            // The last run may be shorter than it says.
            let packed = groups.saturating_mul(width as usize).min(reader.rest.len());
            let packed = reader.take(packed)?;
            let run = left.min(groups.saturating_mul(8));
            if run == 0 || packed.len() < (run * width as usize).div_ceil(8) {
                return Err("a page has fewer entries than it announces".into());
            }
            for i in 0..run {
                each(bits(packed, i * width as usize, width))?;
            }
            left -= run;
        }
    }
    Ok(())
}

/// `width` ≤ 64 bits from a place on, lowest first.
fn bits(bytes: &[u8], place: usize, width: u32) -> u64 {
    let mut window = [0; 16];
    let from = &bytes[place / 8..];
    let taken = from.len().min(16);
    window[..taken].copy_from_slice(&from[..taken]);
    let value = (u128::from_le_bytes(window) >> (place % 8)) as u64;
    if width == 64 { value } else { value & ((1 << width) - 1) }
}

/// Adds `count` entries stored one after another (PLAIN).
pub fn plain(field: &Field, bytes: &[u8], count: usize, out: &mut Entries) -> Result<u64> {
    match out {
        Entries::Texts(texts) => {
            let mut reader = Reader::new(bytes);
            let mut size = 0;
            for _ in 0..count {
                let length = reader.take(4)?.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                size += push_text(texts, reader.take(length as usize)?)?;
            }
            Ok(size)
        }
        Entries::Numbers(numbers) => {
            if field.physical == Physical::Boolean {
                let there = bytes.len().saturating_mul(8);
                check_count(there, count)?;
                numbers.extend((0..count).map(|i| f64::from(bytes[i / 8] >> (i % 8) & 1)));
            } else {
                let width = width(field.physical);
                check_count(bytes.len() / width, count)?;
                numbers.extend(bytes.chunks_exact(width).take(count).map(|bytes| number(field, bytes)));
            }
            Ok(8 * count as u64)
        }
    }
}

fn check_count(there: usize, count: usize) -> Result<()> {
    if there < count { Err(format!("a page has {there} entries, but announces {count}")) } else { Ok(()) }
}

fn push_text(texts: &mut Vec<String>, bytes: &[u8]) -> Result<u64> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it holds bytes that are not UTF-8 text")?;
    texts.push(text.to_string());
    Ok(text_size(text))
}

/// Bytes per number.
fn width(physical: Physical) -> usize {
    match physical {
        Physical::Int32 | Physical::Float => 4,
        Physical::Int64 | Physical::Double => 8,
        Physical::Float16 => 2,
        Physical::Boolean | Physical::Text => 1,
    }
}

/// One number of the column's width.
fn number(field: &Field, bytes: &[u8]) -> f64 {
    let mut window = [0; 8];
    window[..bytes.len()].copy_from_slice(bytes);
    let value = u64::from_le_bytes(window);
    match field.physical {
        Physical::Float => f64::from(f32::from_bits(value as u32)),
        Physical::Double => f64::from_bits(value),
        Physical::Float16 => f64::from(half::f16::from_bits(value as u16)),
        _ => integer(field, value),
    }
}

fn integer(field: &Field, value: u64) -> f64 {
    match (field.physical, field.unsigned) {
        (Physical::Int32, true) => f64::from(value as u32),
        (Physical::Int32, false) => f64::from(value as i32),
        (_, true) => value as f64,
        (_, false) => value as i64 as f64,
    }
}

/// Adds `count` numbers whose first bytes come first, then their second bytes, … (BYTE_STREAM_SPLIT).
pub fn split(field: &Field, bytes: &[u8], count: usize, out: &mut Entries) -> Result<u64> {
    let width = width(field.physical);
    let Entries::Numbers(numbers) = out else { return Err("text has an encoding of numbers".into()) };
    check_count(bytes.len() / width, count)?;
    let stride = bytes.len() / width;
    let mut one = [0; 8];
    for i in 0..count {
        (0..width).for_each(|k| one[k] = bytes[k * stride + i]);
        numbers.push(number(field, &one[..width]));
    }
    Ok(8 * count as u64)
}

/// Differences of integers in blocks (DELTA_BINARY_PACKED). Returns the bytes that follow.
pub fn deltas(bytes: &[u8], count: usize, mut each: impl FnMut(u64) -> Result<()>) -> Result<&[u8]> {
    let mut reader = Reader::new(bytes);
    let block = reader.varint()? as usize;
    let parts = reader.varint()? as usize;
    let total = reader.varint()?;
    let mut value = reader.integer()? as u64;
    let sane = (1..=1 << 20).contains(&block) && (1..=block).contains(&parts) && block.is_multiple_of(parts);
    let size = if sane { block / parts } else { 0 };
    if !sane || size % 8 != 0 || total != count as u64 {
        return Err(format!("{total} differences in blocks of {block}, {count} are needed"));
    }
    let mut left = count;
    if left > 0 {
        each(value)?;
        left -= 1;
    }
    while left > 0 {
        let least = reader.integer()? as u64;
        let widths = reader.take(parts)?;
        for width in widths.iter().map(|width| u32::from(*width)) {
            if left == 0 {
                break;
            }
            if width > 64 {
                return Err(format!("differences have {width} bits"));
            }
            let packed = reader.take(size / 8 * width as usize)?;
            let run = left.min(size);
            for i in 0..run {
                let delta = if width == 0 { 0 } else { bits(packed, i * width as usize, width) };
                value = value.wrapping_add(least).wrapping_add(delta);
                each(value)?;
            }
            left -= run;
        }
    }
    Ok(reader.rest)
}

/// Adds `count` integers stored as differences.
pub fn delta_integers(field: &Field, bytes: &[u8], count: usize, out: &mut Entries) -> Result<u64> {
    let Entries::Numbers(numbers) = out else { return Err("text has an encoding of integers".into()) };
    if !matches!(field.physical, Physical::Int32 | Physical::Int64) {
        return Err("numbers have an encoding of integers".into());
    }
    deltas(bytes, count, |value| {
        numbers.push(integer(field, value));
        Ok(())
    })?;
    Ok(8 * count as u64)
}

/// Adds `count` texts: all lengths as differences, then all bytes (DELTA_LENGTH_BYTE_ARRAY).
pub fn delta_texts(bytes: &[u8], count: usize, out: &mut Entries) -> Result<u64> {
    let Entries::Texts(texts) = out else { return Err("numbers have an encoding of text".into()) };
    let mut lengths = Vec::new();
    let rest = deltas(bytes, count, |length| {
        lengths.push(usize::try_from(length as i64).map_err(|_| "a text has a negative length")?);
        Ok(())
    })?;
    let mut reader = Reader::new(rest);
    let mut size = 0;
    for length in lengths {
        size += push_text(texts, reader.take(length)?)?;
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_put_between_the_others() {
        let mut texts = Entries::Texts(["a", "b", "c"].map(String::from).to_vec());
        texts.spread(1, &[false, true, false, true]);
        assert_eq!(texts, Entries::Texts(["a", "", "b", "", "c"].map(String::from).to_vec()));
        let mut numbers = Entries::Numbers(vec![]);
        numbers.spread(0, &[false, false]);
        assert!(matches!(&numbers, Entries::Numbers(n) if n.len() == 2 && n.iter().all(|n| n.is_nan())));
    }
}
