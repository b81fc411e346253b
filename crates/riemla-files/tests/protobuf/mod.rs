//! Writes the ONNX messages that tests need, byte by byte.

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field that holds bytes, text or a message.
pub fn bytes(field: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    varint(field << 3 | 2, &mut out);
    varint(content.as_ref().len() as u64, &mut out);
    out.extend_from_slice(content.as_ref());
    out
}

/// A field that holds an integer.
pub fn integer(field: u64, value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(field << 3, &mut out);
    varint(value as u64, &mut out);
    out
}

/// An attribute that is an integer.
pub fn attribute(name: &str, value: i64) -> Vec<u8> {
    bytes(5, [bytes(1, name), integer(3, value), integer(20, 2)].concat())
}

/// An attribute that is a list of integers.
pub fn list(name: &str, values: &[i64]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|value| integer(8, *value)).collect();
    bytes(5, [bytes(1, name), values, integer(20, 7)].concat())
}

/// An attribute that is a number.
pub fn number(name: &str, value: f32) -> Vec<u8> {
    let value = [&[2 << 3 | 5][..], &value.to_le_bytes()].concat();
    bytes(5, [bytes(1, name), value, integer(20, 1)].concat())
}

/// An attribute that is a word.
pub fn word(name: &str, value: &str) -> Vec<u8> {
    bytes(5, [bytes(1, name), bytes(4, value), integer(20, 3)].concat())
}

/// An operation; its output is also its name.
pub fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    let inputs: Vec<u8> = inputs.iter().flat_map(|name| bytes(1, name)).collect();
    let rest = [bytes(2, output), bytes(3, output), bytes(4, operator), attributes.concat()].concat();
    bytes(1, [inputs, rest].concat())
}

/// A constant of any type from bytes.
pub fn raw(name: &str, data_type: i64, dims: &[i64], data: &[u8]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|dim| integer(1, *dim)).collect();
    bytes(5, [dims, integer(2, data_type), bytes(8, name), bytes(9, data)].concat())
}

/// A constant of single precision.
pub fn tensor(name: &str, dims: &[i64], values: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    raw(name, 1, dims, &data)
}

/// A constant list of 64-bit integers.
pub fn integers(name: &str, values: &[i64]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    raw(name, 7, &[values.len() as i64], &data)
}

/// An input or output (field 11 or 12) of single precision; a negative dimension is left open.
pub fn declared(field: u64, name: &str, dims: &[i64]) -> Vec<u8> {
    let dimension = |dim: &i64| bytes(1, if *dim < 0 { bytes(2, "n") } else { integer(1, *dim) });
    let shape: Vec<u8> = dims.iter().flat_map(dimension).collect();
    let kind = bytes(1, [integer(1, 1), bytes(2, shape)].concat());
    bytes(field, [bytes(1, name), bytes(2, kind)].concat())
}

/// A model with input `x` of the given dimensions besides the batch and output `y`.
pub fn model(dims: &[i64], parts: &[Vec<u8>]) -> Vec<u8> {
    let dims: Vec<i64> = std::iter::once(-1).chain(dims.iter().copied()).collect();
    whole(&[parts, &[declared(11, "x", &dims), declared(12, "y", &[-1, 1])]].concat())
}

/// A model of these parts of a graph.
pub fn whole(parts: &[Vec<u8>]) -> Vec<u8> {
    [integer(1, 8), bytes(8, integer(2, 17)), bytes(7, parts.concat())].concat()
}
