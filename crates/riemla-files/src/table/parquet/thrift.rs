//! Thrift's compact protocol, as far as Parquet's headers need it.

/// Bytes that are not what they should be, in words.
pub type Result<T> = std::result::Result<T, String>;

/// Deepest nesting of structures that is skipped.
const MAX_DEPTH: usize = 16;

/// What stands in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool(bool),
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

/// Reads from the start of a slice on.
#[derive(Debug)]
pub struct Reader<'a> {
    pub rest: &'a [u8],
    depth: usize,
}

impl<'a> Reader<'a> {
    /// A reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, depth: 0 }
    }

    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.rest.split_first().ok_or("a header ends early")?;
        self.rest = rest;
        Ok(*first)
    }

    /// An unsigned integer of variable length.
    pub fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number has too many bytes".into())
    }

    /// A signed integer.
    pub fn integer(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A signed integer that must be a size.
    pub fn size(&mut self) -> Result<usize> {
        let value = self.integer()?;
        usize::try_from(value).map_err(|_| format!("a size is {value}"))
    }

    /// So many bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or("a header ends early")?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Bytes with their length before them.
    pub fn binary(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.varint()?).map_err(|_| "a header ends early")?;
        self.take(length)
    }

    /// Calls `each` for every element of a list.
    pub fn list(&mut self, mut each: impl FnMut(&mut Self, Kind) -> Result<()>) -> Result<()> {
        let header = self.byte()?;
        let count = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
        // Every element takes a byte at least, so that a count that lies ends soon.
        let kind = kind(header & 0x0f)?;
        for _ in 0..count {
            each(self, if let Kind::Bool(_) = kind { Kind::Byte } else { kind })?;
        }
        Ok(())
    }

    /// Calls `field` for every field of a structure; it says whether it read the field.
    pub fn fields(&mut self, mut field: impl FnMut(&mut Self, i64, Kind) -> Result<bool>) -> Result<()> {
        let mut id = 0i64;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Ok(());
            }
            id = if header >> 4 == 0 { self.integer()? } else { id.saturating_add(i64::from(header >> 4)) };
            let kind = kind(header & 0x0f)?;
            if !field(self, id, kind)? {
                self.skip(kind)?;
            }
        }
    }

    /// Passes over a value.
    pub fn skip(&mut self, kind: Kind) -> Result<()> {
        if self.depth == MAX_DEPTH {
            return Err("its headers are nested too deeply".into());
        }
        self.depth += 1;
        match kind {
            Kind::Bool(_) => {}
            Kind::Byte => drop(self.byte()?),
            Kind::Integer => drop(self.varint()?),
            Kind::Double => drop(self.take(8)?),
            Kind::Binary => drop(self.binary()?),
            Kind::List => self.list(|reader, kind| reader.skip(kind))?,
            Kind::Struct => self.fields(|_, _, _| Ok(false))?,
            Kind::Map => return Err("a header holds a map".into()),
        }
        self.depth -= 1;
        Ok(())
    }
}

fn kind(code: u8) -> Result<Kind> {
    Ok(match code {
        1 => Kind::Bool(true),
        2 => Kind::Bool(false),
        3 => Kind::Byte,
        4..=6 => Kind::Integer,
        7 => Kind::Double,
        8 => Kind::Binary,
        9 | 10 => Kind::List,
        11 => Kind::Map,
        12 => Kind::Struct,
        _ => return Err("a header holds a field of unknown type".into()),
    })
}
