//! The wire format of protocol buffers: one message as a sequence of numbered fields.
//!
//! Nothing is copied and nothing is entered by itself: a nested message is a slice until somebody
//! asks for its fields, so nesting costs no stack.

use std::borrow::Cow;

/// Bytes that are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// Result of reading bytes of a message.
pub type Result<T> = std::result::Result<T, Malformed>;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// An integer of variable length.
    Varint(u64),
    /// Eight bytes, little-endian.
    Fixed64([u8; 8]),
    /// Text, bytes, a nested message or a packed list.
    Bytes(&'a [u8]),
    /// Four bytes, little-endian.
    Fixed32([u8; 4]),
}

impl<'a> Value<'a> {
    /// Text, bytes, a message or a packed list.
    pub fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(Malformed("a number stands where bytes were expected")),
        }
    }

    /// Text; bytes that are not UTF-8 are replaced.
    pub fn text(self) -> Result<Cow<'a, str>> {
        self.bytes().map(String::from_utf8_lossy)
    }

    /// A signed integer.
    pub fn integer(self) -> Result<i64> {
        match self {
            Value::Varint(value) => Ok(value as i64),
            _ => Err(Malformed("bytes stand where an integer was expected")),
        }
    }

    /// Adds the integers of a repeated field, packed or not.
    pub fn integers(self, list: &mut Vec<i64>) -> Result<()> {
        let Value::Bytes(mut bytes) = self else {
            list.push(self.integer()?);
            return Ok(());
        };
        while !bytes.is_empty() {
            list.push(varint(&mut bytes)? as i64);
        }
        Ok(())
    }
}

/// The fields of a message, in order. Ends after the first error.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

/// The fields of a message.
pub fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = field(&mut self.rest);
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u64, Value<'a>)> {
    let tag = varint(rest)?;
    let value = match tag & 7 {
        0 => Value::Varint(varint(rest)?),
        1 => Value::Fixed64(chunk(rest)?),
        2 => {
            let length = varint(rest)?;
            let length = usize::try_from(length).ok().filter(|length| *length <= rest.len());
            let (bytes, after) =
                rest.split_at(length.ok_or(Malformed("a field is longer than the file: it is cut short"))?);
            *rest = after;
            Value::Bytes(bytes)
        }
        5 => Value::Fixed32(chunk(rest)?),
        _ => return Err(Malformed("a field has an unknown type")),
    };
    match tag >> 3 {
        0 => Err(Malformed("a field has the number 0")),
        number => Ok((number, value)),
    }
}

fn chunk<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (bytes, after) = rest.split_first_chunk::<N>().ok_or(Malformed("it ends inside a number"))?;
    *rest = after;
    Ok(*bytes)
}

fn varint(rest: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for (i, byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).wrapping_shl(7 * i as u32);
        if byte & 0x80 == 0 {
            *rest = &rest[i + 1..];
            return Ok(value);
        }
    }
    Err(Malformed(if rest.len() < 10 { "it ends inside a number" } else { "a number has too many bytes" }))
}
