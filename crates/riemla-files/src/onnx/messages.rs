//! The messages of an ONNX file that matter for importing; everything else is skipped.
//!
//! Numbers of fields are those of onnx.proto3. Everything borrows from the bytes of the file.
//! Subgraphs (of If, Loop and Scan) are never entered: their operators cannot be imported.

use std::borrow::Cow;

use super::wire::{Malformed, Result, Value, fields};

/// A model.
#[derive(Debug, Default)]
pub struct Model<'a> {
    /// Version of the standard operators.
    pub opset: Option<i64>,
    /// Its graph.
    pub graph: Option<Graph<'a>>,
}

/// A graph of operations.
#[derive(Debug, Default)]
pub struct Graph<'a> {
    pub nodes: Vec<Node<'a>>,
    pub initializers: Vec<Tensor<'a>>,
    pub inputs: Vec<Declared<'a>>,
    pub outputs: Vec<Declared<'a>>,
}

/// One operation.
#[derive(Debug, Default)]
pub struct Node<'a> {
    pub name: Cow<'a, str>,
    pub operator: Cow<'a, str>,
    pub domain: Cow<'a, str>,
    pub inputs: Vec<Cow<'a, str>>,
    pub outputs: Vec<Cow<'a, str>>,
    pub attributes: Vec<Attribute<'a>>,
}

/// A setting of an operation; the field that was filled tells its type.
#[derive(Debug, Default)]
pub struct Attribute<'a> {
    pub name: Cow<'a, str>,
    pub float: Option<f32>,
    pub integer: Option<i64>,
    pub text: Option<Cow<'a, str>>,
    pub tensor: Option<Tensor<'a>>,
    pub integers: Vec<i64>,
    pub floats: Vec<f32>,
}

/// A constant tensor, not yet decoded.
#[derive(Debug, Default)]
pub struct Tensor<'a> {
    pub name: Cow<'a, str>,
    pub dims: Vec<i64>,
    pub data_type: i64,
    pub raw: Option<&'a [u8]>,
    /// Entries in fields of their type: number of the field, and a packed list or one entry.
    pub typed: Vec<(u64, Value<'a>)>,
    /// Where the entries are, if not in this file: keys and values.
    pub external: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pub is_external: bool,
}

/// An input or output as it is declared.
#[derive(Debug, Default)]
pub struct Declared<'a> {
    pub name: Cow<'a, str>,
    /// Type of its numbers.
    pub data_type: Option<i64>,
    /// Its dimensions, none where they vary; none altogether if they are not given.
    pub dims: Option<Vec<Option<i64>>>,
}

/// Reads a model.
pub fn model(bytes: &[u8]) -> Result<Model<'_>> {
    let mut model = Model::default();
    for field in fields(bytes) {
        match field? {
            (7, _) if model.graph.is_some() => return Err(Malformed("it has two graphs")),
            (7, value) => model.graph = Some(graph(value.bytes()?)?),
            (8, value) => {
                let (domain, version) = operators(value.bytes()?)?;
                if is_standard(&domain) {
                    model.opset = Some(version);
                }
            }
            _ => {}
        }
    }
    Ok(model)
}

/// Whether a domain is that of the standard operators.
pub fn is_standard(domain: &str) -> bool {
    domain.is_empty() || domain == "ai.onnx"
}

fn operators(bytes: &[u8]) -> Result<(Cow<'_, str>, i64)> {
    let (mut domain, mut version) = (Cow::default(), 0);
    for field in fields(bytes) {
        match field? {
            (1, value) => domain = value.text()?,
            (2, value) => version = value.integer()?,
            _ => {}
        }
    }
    Ok((domain, version))
}

fn graph(bytes: &[u8]) -> Result<Graph<'_>> {
    let mut graph = Graph::default();
    for field in fields(bytes) {
        match field? {
            (1, value) => graph.nodes.push(node(value.bytes()?)?),
            (5, value) => graph.initializers.push(tensor(value.bytes()?)?),
            (11, value) => graph.inputs.push(declared(value.bytes()?)?),
            (12, value) => graph.outputs.push(declared(value.bytes()?)?),
            _ => {}
        }
    }
    Ok(graph)
}

fn node(bytes: &[u8]) -> Result<Node<'_>> {
    let mut node = Node::default();
    for field in fields(bytes) {
        match field? {
            (1, value) => node.inputs.push(value.text()?),
            (2, value) => node.outputs.push(value.text()?),
            (3, value) => node.name = value.text()?,
            (4, value) => node.operator = value.text()?,
            (5, value) => node.attributes.push(attribute(value.bytes()?)?),
            (7, value) => node.domain = value.text()?,
            _ => {}
        }
    }
    Ok(node)
}

fn attribute(bytes: &[u8]) -> Result<Attribute<'_>> {
    let mut attribute = Attribute::default();
    for field in fields(bytes) {
        match field? {
            (1, value) => attribute.name = value.text()?,
            (2, Value::Fixed32(bytes)) => attribute.float = Some(f32::from_le_bytes(bytes)),
            (3, value) => attribute.integer = Some(value.integer()?),
            (4, value) => attribute.text = Some(value.text()?),
            (5, value) => attribute.tensor = Some(tensor(value.bytes()?)?),
            (7, Value::Fixed32(bytes)) => attribute.floats.push(f32::from_le_bytes(bytes)),
            (7, value) => {
                let (numbers, left) = value.bytes()?.as_chunks::<4>();
                if !left.is_empty() {
                    return Err(Malformed("a list of numbers is cut short"));
                }
                attribute.floats.extend(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
            (8, value) => value.integers(&mut attribute.integers)?,
            _ => {}
        }
    }
    Ok(attribute)
}

fn tensor(bytes: &[u8]) -> Result<Tensor<'_>> {
    let mut tensor = Tensor::default();
    for field in fields(bytes) {
        match field? {
            (1, value) => value.integers(&mut tensor.dims)?,
            (2, value) => tensor.data_type = value.integer()?,
            (8, value) => tensor.name = value.text()?,
            (9, value) => tensor.raw = Some(value.bytes()?),
            (13, value) => tensor.external.push(entry(value.bytes()?)?),
            (14, value) => tensor.is_external = value.integer()? == 1,
            (number @ (4 | 5 | 7 | 10), value) => tensor.typed.push((number, value)),
            _ => {}
        }
    }
    Ok(tensor)
}

fn entry(bytes: &[u8]) -> Result<(Cow<'_, str>, Cow<'_, str>)> {
    let (mut key, mut text) = Default::default();
    for field in fields(bytes) {
        match field? {
            (1, value) => key = value.text()?,
            (2, value) => text = value.text()?,
            _ => {}
        }
    }
    Ok((key, text))
}

fn declared(bytes: &[u8]) -> Result<Declared<'_>> {
    let mut declared = Declared::default();
    for field in fields(bytes) {
        match field? {
            (1, value) => declared.name = value.text()?,
            (2, value) => {
                for field in fields(value.bytes()?) {
                    if let (1, value) = field? {
                        tensor_type(value.bytes()?, &mut declared)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(declared)
}

fn tensor_type(bytes: &[u8], declared: &mut Declared<'_>) -> Result<()> {
    for field in fields(bytes) {
        match field? {
            (1, value) => declared.data_type = Some(value.integer()?),
            (2, value) => {
                let mut dims = Vec::new();
                for field in fields(value.bytes()?) {
                    if let (1, value) = field? {
                        dims.push(dimension(value.bytes()?)?);
                    }
                }
                declared.dims = Some(dims);
            }
            _ => {}
        }
    }
    Ok(())
}

fn dimension(bytes: &[u8]) -> Result<Option<i64>> {
    let mut size = None;
    for field in fields(bytes) {
        if let (1, value) = field? {
            size = Some(value.integer()?);
        }
    }
    Ok(size)
}
