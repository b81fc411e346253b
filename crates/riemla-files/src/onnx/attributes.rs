//! Settings of one operation: every one is asked for, and those left over are reported.

use super::messages::{Attribute, Node, Tensor};

/// The attributes of a node, and what was wrong with them so far.
pub struct Attributes<'n, 'a> {
    node: &'n Node<'a>,
    taken: Vec<&'static str>,
    /// What cannot be imported, without the node's name.
    pub problems: Vec<String>,
}

impl<'n, 'a> Attributes<'n, 'a> {
    /// The attributes of a node, none of them taken.
    pub fn new(node: &'n Node<'a>) -> Self {
        Self { node, taken: Vec::new(), problems: Vec::new() }
    }

    fn take(&mut self, name: &'static str) -> Option<&'n Attribute<'a>> {
        self.taken.push(name);
        self.node.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Takes an attribute of one type; another type is a problem.
    fn typed<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&'n Attribute<'a>) -> Option<T>,
    ) -> Option<T> {
        let attribute = self.take(name)?;
        let value = read(attribute);
        if value.is_none() {
            self.problems.push(format!("attribute {name} is not {expected}"));
        }
        value
    }

    /// An integer. Zero is not written by every program, so that an empty attribute is 0.
    pub fn integer(&mut self, name: &'static str) -> Option<i64> {
        self.take(name).map(|attribute| attribute.integer.unwrap_or(0))
    }

    /// An integer that must have one value, which is also its default.
    pub fn only(&mut self, name: &'static str, value: i64) {
        let found = self.integer(name).unwrap_or(value);
        if found != value {
            self.problems.push(format!("{name} is {found}, only {value} can be imported"));
        }
    }

    /// A list of integers.
    pub fn integers(&mut self, name: &'static str) -> Option<&'n [i64]> {
        self.take(name).map(|attribute| attribute.integers.as_slice())
    }

    /// Two integers above a limit, for height and width.
    pub fn pair(&mut self, name: &'static str) -> Option<[usize; 2]> {
        let list = self.integers(name)?;
        let sizes = list.iter().map(|value| usize::try_from(*value).ok().filter(|size| *size > 0));
        let pair = sizes.collect::<Option<Vec<_>>>().and_then(|sizes| <[usize; 2]>::try_from(sizes).ok());
        if pair.is_none() {
            let problem = format!("{name} is {}, two numbers above 0 are needed", shown(list));
            self.problems.push(problem);
        }
        pair
    }

    /// A list of integers that must all have one value, which is also their default.
    pub fn all(&mut self, name: &'static str, value: i64) {
        let list = self.integers(name).unwrap_or_default();
        if list.iter().any(|found| *found != value) {
            self.problems.push(format!("{name} is {}, only {value} can be imported", shown(list)));
        }
    }

    /// A number.
    pub fn number(&mut self, name: &'static str, default: f64) -> f64 {
        self.take(name).map_or(default, |attribute| f64::from(attribute.float.unwrap_or(0.0)))
    }

    /// A word.
    pub fn word(&mut self, name: &'static str, default: &str) -> String {
        let text = self.typed(name, "a word", |attribute| attribute.text.as_deref());
        text.unwrap_or(default).to_string()
    }

    /// A tensor.
    pub fn tensor(&mut self, name: &'static str) -> Option<&'n Tensor<'a>> {
        self.typed(name, "a tensor", |attribute| attribute.tensor.as_ref())
    }

    /// Whether the node has an attribute.
    pub fn has(&self, name: &str) -> bool {
        self.node.attributes.iter().any(|attribute| attribute.name == name)
    }

    /// A list of numbers.
    pub fn numbers(&mut self, name: &'static str) -> Option<&'n [f32]> {
        self.take(name).map(|attribute| attribute.floats.as_slice())
    }

    /// All problems, those of attributes that nobody asked for included.
    pub fn finish(mut self) -> Vec<String> {
        for attribute in &self.node.attributes {
            if !self.taken.contains(&attribute.name.as_ref()) {
                self.problems.push(format!("attribute {} is not known", attribute.name));
            }
        }
        self.problems
    }
}

/// Up to eight entries of a list.
pub fn shown(list: &[i64]) -> String {
    let more = if list.len() > 8 { ", …" } else { "" };
    let first: Vec<String> = list.iter().take(8).map(i64::to_string).collect();
    format!("[{}{more}]", first.join(", "))
}
