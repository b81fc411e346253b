//! IDX files, the format of MNIST: images and labels, plain or gzip.

use std::path::Path;

use riemla::data::Dataset;

use crate::open::{ReadOptions, Source};
use crate::{Error, Result};

/// An array of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idx {
    /// Where it came from, for messages.
    pub file: String,
    /// Dimensions, the first one counting items.
    pub dims: Vec<usize>,
    /// Entries, row-major.
    pub data: Vec<u8>,
}

impl Idx {
    /// Bytes per item.
    pub fn item_len(&self) -> usize {
        self.dims[1..].iter().product()
    }
}

/// Which labels a file may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelRange {
    /// The label of class 0.
    pub first: u8,
    /// Number of classes.
    pub classes: usize,
}

impl Default for LabelRange {
    /// The digits 0 to 9.
    fn default() -> Self {
        Self { first: 0, classes: 10 }
    }
}

/// Reads an IDX file of unsigned bytes.
pub fn read_idx(path: &Path, options: ReadOptions) -> Result<Idx> {
    read_idx_from(Source::open(path, options)?)
}

/// Reads IDX from any source.
pub fn read_idx_from(mut source: Source) -> Result<Idx> {
    if source.at_end()? {
        return Err(Error::Empty { file: source.name().into(), expected: "an IDX header was expected" });
    }
    let mut magic = [0; 4];
    source.exact(&mut magic, "the IDX header")?;
    let [zero, also_zero, kind, count] = magic;
    if zero != 0 || also_zero != 0 || !(8..=14).contains(&kind) {
        let problem = format!("it starts with {magic:02x?} instead of 00 00 08 and the number of dimensions");
        return Err(Error::format(source.name(), "IDX", problem));
    }
    if kind != 8 {
        return Err(Error::Dtype {
            file: source.name().into(),
            array: "IDX array".into(),
            dtype: format!("0x{kind:02x}"),
            accepted: "unsigned bytes (0x08)",
        });
    }
    if !(1..=4).contains(&count) {
        return Err(Error::format(source.name(), "IDX", format!("{count} dimensions; 1 to 4 can be read")));
    }
    let mut dims = Vec::new();
    for _ in 0..count {
        let mut bytes = [0; 4];
        source.exact(&mut bytes, "the IDX header")?;
        dims.push(u32::from_be_bytes(bytes) as usize);
    }
    if dims.contains(&0) {
        return Err(Error::Empty { file: source.name().into(), expected: "no dimension may be 0" });
    }
    let bytes = dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim as u64));
    let bytes = bytes
        .ok_or_else(|| Error::format(source.name(), "IDX", format!("impossible dimensions {dims:?}")))?;
    let data = source.bytes(bytes, &format!("an array of dimensions {dims:?}"))?;
    if !source.at_end()? {
        let problem = format!("bytes are left over after the {bytes} of dimensions {dims:?}");
        return Err(Error::format(source.name(), "IDX", problem));
    }
    Ok(Idx { file: source.name().into(), dims, data })
}

/// Images (pixels divided by 255) with their labels (minus the first label) as a data set.
pub fn read_images(images: &Path, labels: &Path, range: LabelRange, options: ReadOptions) -> Result<Dataset> {
    images_dataset(&read_idx(images, options)?, &read_idx(labels, options)?, range)
}

/// As [`read_images`], from arrays in memory.
pub fn images_dataset(images: &Idx, labels: &Idx, range: LabelRange) -> Result<Dataset> {
    for (idx, dims, what) in [(images, 2..=4, "images"), (labels, 1..=1, "labels")] {
        if !dims.contains(&idx.dims.len()) {
            let problem =
                format!("it has dimensions {:?}, not those of {what}; were the files swapped?", idx.dims);
            return Err(Error::format(&idx.file, "IDX", problem));
        }
    }
    if images.dims[0] != labels.dims[0] {
        return Err(Error::Mismatch {
            file: images.file.clone(),
            other: labels.file.clone(),
            problem: format!("{} images, but {} labels", images.dims[0], labels.dims[0]),
        });
    }
    let class = |(item, &label): (usize, &u8)| {
        let class = usize::from(label).checked_sub(usize::from(range.first));
        class.filter(|class| *class < range.classes).ok_or_else(|| Error::Label {
            file: labels.file.clone(),
            item,
            label,
            first: usize::from(range.first),
            last: (usize::from(range.first) + range.classes).saturating_sub(1),
        })
    };
    let classes = labels.data.iter().enumerate().map(class).collect::<Result<Vec<_>>>()?;
    Dataset::classification(pixels(images), images.item_len(), classes).map_err(Error::content(&images.file))
}

/// Pixels divided by 255.
pub fn pixels(images: &Idx) -> Vec<f64> {
    images.data.iter().map(|&pixel| f64::from(pixel) / 255.0).collect()
}
