//! The data sets of the experiments: one table of facts.

use super::convert::Tables;
use super::generate::Generated;
use super::{DataError, Result};

/// What a data set holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A CSV table whose last column is the class, counted from 0.
    Classes {
        /// Rows.
        rows: usize,
        /// Columns before the label.
        features: usize,
        /// Number of classes, all of which occur.
        classes: usize,
    },
    /// A CSV table whose last column is a real target.
    Values {
        /// Rows.
        rows: usize,
        /// Columns before the target.
        features: usize,
    },
    /// IDX images of 28 × 28 pixels with labels: the first two files are images and labels of the
    /// test part, the next two (if any) of the training part.
    Images {
        /// Test images.
        test: usize,
        /// Training images; 0 if there are none here.
        train: usize,
        /// The label of class 0.
        first_label: u8,
        /// Number of classes.
        classes: usize,
    },
    /// Made by this program.
    Generated(Generated),
}

/// One file of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataFile {
    /// Place below the data directory.
    pub path: &'static str,
    /// SHA-256 of the content, after decompression if it is gzip: two packers give other bytes.
    pub sha256: &'static str,
    /// Bytes of the content.
    pub bytes: u64,
    /// Where it comes from.
    pub source: Source,
}

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From no address that is known.
    ByHand,
    /// From an address that has it in this form.
    Copy(&'static str),
    /// From published tables in another form.
    Tables(Tables),
}

impl Source {
    /// The addresses to download.
    pub fn urls(&self) -> &[&'static str] {
        match self {
            Self::ByHand => &[],
            Self::Copy(url) => std::slice::from_ref(url),
            Self::Tables(tables) => tables.urls,
        }
    }
}

/// One data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSet {
    /// Its name in experiments and on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its files; none if it is generated.
    pub files: &'static [DataFile],
    /// What is in them.
    pub content: Content,
    /// Who made it.
    pub origin: &'static str,
    /// Under which terms.
    pub licence: &'static str,
    /// How to get it where it cannot be downloaded in this form.
    pub by_hand: &'static str,
}

const fn table(path: &'static str, sha256: &'static str, bytes: u64) -> DataFile {
    DataFile { path, sha256, bytes, source: Source::ByHand }
}

const fn converted(path: &'static str, sha256: &'static str, bytes: u64, tables: Tables) -> DataFile {
    DataFile { path, sha256, bytes, source: Source::Tables(tables) }
}

const IMAGES: u64 = 60_000 * 784 + 16;
const TEST_IMAGES: u64 = 10_000 * 784 + 16;
const UCI: &str = "CC BY 4.0 (UCI Machine Learning Repository)";
const BENCHMARK: &str = "https://github.com/aleximmer/BNN-predictions (folder data, commit fe80c2c)";
const NOTHING: &str = "";

/// Files with the names and sizes of MNIST's, by their checksums: test images and labels, then those of training, if any.
macro_rules! images {
    ($set:literal from $address:literal, $test:literal, $test_labels:literal $(, $train:literal, $labels:literal)? $(,)?) => {
        &[
            images!(@file $set, $address, "t10k-images-idx3-ubyte.gz", $test, TEST_IMAGES),
            images!(@file $set, $address, "t10k-labels-idx1-ubyte.gz", $test_labels, 10_008),
            $(images!(@file $set, $address, "train-images-idx3-ubyte.gz", $train, IMAGES),
            images!(@file $set, $address, "train-labels-idx1-ubyte.gz", $labels, 60_008),)?
        ]
    };
    (@file $set:literal, $address:literal, $name:literal, $sha256:literal, $bytes:expr) => {
        DataFile {
            path: concat!($set, "/", $name),
            sha256: $sha256,
            bytes: $bytes,
            source: Source::Copy(concat!($address, $name)),
        }
    };
}

/// All data sets.
pub const ALL: &[DataSet] = &[
    DataSet {
        name: "banana",
        about: "two interleaved banana-shaped clusters",
        files: &[converted(
            "banana.csv",
            "ed419f4f759f75e7c344e81dbba0696130d4e61dc132bbbd18edb10534897bf0",
            75_062,
            Tables {
                urls: &[
                    "https://raw.githubusercontent.com/aleximmer/BNN-predictions/7285a08e56d3778212919d811aa000ca8f0d4211/data/banana/banana.csv",
                ],
                header: "x1,x2,label",
                skip: 0,
                labels: &["1", "2"],
            },
        )],
        content: Content::Classes { rows: 5300, features: 2, classes: 2 },
        origin: "artificial data, G. Rätsch's IDA benchmark, distributed by KEEL",
        licence: "none stated; free for research",
        by_hand: NOTHING,
    },
    DataSet {
        name: "snelson",
        about: "one-dimensional regression, 200 pairs",
        files: &[table(
            "snelson.csv",
            "981e216b99506cc70b050494cd6b648d9330d154f3a18e4713a5e8555400fa07",
            4_292,
        )],
        content: Content::Values { rows: 200, features: 1 },
        origin: "E. Snelson and Z. Ghahramani, sparse pseudo-input Gaussian processes (2006)",
        licence: "none stated",
        by_hand: "data/snelson_data of https://github.com/federicobergamin/riemannian-laplace-approximation: train_inputs and train_outputs as columns x,y",
    },
    DataSet {
        name: "vehicle",
        about: "Statlog vehicle silhouettes",
        files: &[converted(
            "vehicle.csv",
            "98419195346b7253dfbcd0549914c53bde9eee0498268553372986d2f2927473",
            53_333,
            Tables {
                urls: &[
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xaa.dat",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xab.dat",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xac.dat",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xad.dat",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xae.dat",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xaf.dat",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xag.dat",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xah.dat",
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/vehicle/xai.dat",
                ],
                header: "compactness,circularity,distance_circularity,radius_ratio,pr_axis_aspect_ratio,max_length_aspect_ratio,scatter_ratio,elongatedness,pr_axis_rectangularity,max_length_rectangularity,scaled_variance_major,scaled_variance_minor,scaled_radius_of_gyration,skewness_about_major,skewness_about_minor,kurtosis_about_minor,kurtosis_about_major,hollows_ratio,label",
                skip: 0,
                labels: &["bus", "opel", "saab", "van"],
            },
        )],
        content: Content::Classes { rows: 846, features: 18, classes: 4 },
        origin: "P. Mowforth and B. Shepherd, Turing Institute",
        licence: UCI,
        by_hand: NOTHING,
    },
    DataSet {
        name: "glass",
        about: "glass identification",
        files: &[converted(
            "glass.csv",
            "8218bff3670b730310f7715c6322d17474c0d9c11e856188b83107c680625530",
            11_187,
            Tables {
                urls: &["https://archive.ics.uci.edu/ml/machine-learning-databases/glass/glass.data"],
                header: "RI,Na,Mg,Al,Si,K,Ca,Ba,Fe,label",
                skip: 1,
                labels: &["1", "2", "3", "5", "6", "7"],
            },
        )],
        content: Content::Classes { rows: 214, features: 9, classes: 6 },
        origin: "B. German, Home Office Forensic Science Service",
        licence: UCI,
        by_hand: NOTHING,
    },
    DataSet {
        name: "ionosphere",
        about: "radar returns from the ionosphere",
        files: &[converted(
            "ionosphere.csv",
            "f021d1a33afc154ed0eb30bd65db2786a71b05462c5972b7708f84f52bab25b6",
            76_600,
            Tables {
                urls: &[
                    "https://archive.ics.uci.edu/ml/machine-learning-databases/ionosphere/ionosphere.data",
                ],
                header: "V1,V2,V3,V4,V5,V6,V7,V8,V9,V10,V11,V12,V13,V14,V15,V16,V17,V18,V19,V20,V21,V22,V23,V24,V25,V26,V27,V28,V29,V30,V31,V32,V33,V34,label",
                skip: 0,
                labels: &["b", "g"],
            },
        )],
        content: Content::Classes { rows: 351, features: 34, classes: 2 },
        origin: "V. Sigillito, Johns Hopkins APL",
        licence: UCI,
        by_hand: NOTHING,
    },
    DataSet {
        name: "waveform",
        about: "waveforms, the 1000 rows of the published benchmark",
        files: &[table(
            "benchmark/waveform.csv",
            "530e7dc14fc7a4da5eabc551515619ff2f8fc4e2819260cd30afca22047d5fc8",
            369_212,
        )],
        content: Content::Classes { rows: 1000, features: 21, classes: 3 },
        origin: "a draw from the generator of Breiman, Friedman, Olshen and Stone (1984)",
        licence: "synthetic; repository without licence file",
        by_hand: BENCHMARK,
    },
    DataSet {
        name: "australian",
        about: "Australian credit approval, scaled as in the published benchmark",
        files: &[table(
            "benchmark/australian.csv",
            "0b739377d9efe3c20b8daa87576c71aaea1ca912b523ff4ff989cb1747d0e8cd",
            63_095,
        )],
        content: Content::Classes { rows: 690, features: 14, classes: 2 },
        origin: "Statlog, donor J. R. Quinlan; LIBSVM scaling",
        licence: UCI,
        by_hand: BENCHMARK,
    },
    DataSet {
        name: "breast_cancer",
        about: "breast cancer Wisconsin (original), scaled as in the published benchmark",
        files: &[table(
            "benchmark/breast_cancer.csv",
            "fd59296f463363dc3765c764441e237654f6027ff168dafc715b7b5c258c466d",
            51_835,
        )],
        content: Content::Classes { rows: 683, features: 10, classes: 2 },
        origin: "W. H. Wolberg, University of Wisconsin; LIBSVM scaling",
        licence: UCI,
        by_hand: BENCHMARK,
    },
    DataSet {
        name: "mnist",
        about: "handwritten digits",
        files: images!(
            "mnist" from "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        content: Content::Images { test: 10_000, train: 60_000, first_label: 0, classes: 10 },
        origin: "Y. LeCun, C. Cortes, C. J. C. Burges",
        licence: "none in the files; usually stated as CC BY-SA 3.0",
        by_hand: NOTHING,
    },
    DataSet {
        name: "fashion_mnist",
        about: "images of clothes",
        files: images!(
            "fashion_mnist" from "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        content: Content::Images { test: 10_000, train: 60_000, first_label: 0, classes: 10 },
        origin: "H. Xiao, K. Rasul, R. Vollgraf, Zalando (2017)",
        licence: "MIT",
        by_hand: NOTHING,
    },
    DataSet {
        name: "kmnist",
        about: "Kuzushiji-MNIST: cursive Japanese characters, test part",
        files: images!(
            "kmnist" from "https://codh.rois.ac.jp/kmnist/dataset/kmnist/",
            "76fbd229ce87db80dd281af5e6670de4ad0e42fb30a7bd643972994c47c1f42e",
            "a11dc742be8e781a40a92f53d6a4957e7b7d36df2faa097659131ebfd8fd60c6",
        ),
        content: Content::Images { test: 10_000, train: 0, first_label: 0, classes: 10 },
        origin: "\"KMNIST Dataset\" (created by CODH), adapted from \"Kuzushiji Dataset\" (created by NIJL and others), doi:10.20676/00000341",
        licence: "CC BY-SA 4.0",
        by_hand: NOTHING,
    },
    DataSet {
        name: "emnist",
        about: "EMNIST, split \"mnist\" (digits), test part",
        files: &[
            table(
                "emnist/emnist-mnist-test-images-idx3-ubyte.gz",
                "0a5442aeabc1ec6cf0a8335d81debf853b46a7570f5d93805a4d6ef8b7281063",
                TEST_IMAGES,
            ),
            table(
                "emnist/emnist-mnist-test-labels-idx1-ubyte.gz",
                "a0ffd2d4ce92418e020d53cf36f2b6c154c4f59344098a5e8d3c6e588109f0a0",
                10_008,
            ),
        ],
        content: Content::Images { test: 10_000, train: 0, first_label: 0, classes: 10 },
        origin: "G. Cohen, S. Afshar, J. Tapson, A. van Schaik (2017), from NIST Special Database 19",
        licence: "US government work; no licence file",
        by_hand: "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip (0.5 GB): the two files of these names in it",
    },
    DataSet {
        name: "emnist_letters",
        about: "EMNIST, split \"letters\", the first 14800 test images (A to S)",
        files: &[
            table(
                "emnist/emnist-letters-test-first14800-images-idx3-ubyte.gz",
                "1d86b338cbf52388ca7ab46041a33a94e55b221ff9c3c3097a206e52ce3bfb06",
                14_800 * 784 + 16,
            ),
            table(
                "emnist/emnist-letters-test-first14800-labels-idx1-ubyte.gz",
                "4118ec990e27517e3d750ebe9b2044792debc6b0dcddc5c4bc58faddbe968bc2",
                14_808,
            ),
        ],
        content: Content::Images { test: 14_800, train: 0, first_label: 1, classes: 26 },
        origin: "G. Cohen, S. Afshar, J. Tapson, A. van Schaik (2017), from NIST Special Database 19",
        licence: "US government work; no licence file",
        by_hand: "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip: the letters test files, cut after 14800 items",
    },
    generated("pinwheel", "five curved arms of 200 points each", Generated::Pinwheel),
    generated("logistic", "two linearly separable clusters in the plane", Generated::Logistic),
    generated("logistic5", "labels of a logistic model with five inputs", Generated::Logistic5),
    generated("convex-1", "labels of a linear model, number 1 of six", Generated::Convex(0)),
    generated("convex-2", "labels of a linear model, number 2 of six", Generated::Convex(1)),
    generated("convex-3", "labels of a linear model, number 3 of six", Generated::Convex(2)),
    generated("convex-4", "labels of a linear model, number 4 of six", Generated::Convex(3)),
    generated("convex-5", "labels of a linear model, number 5 of six", Generated::Convex(4)),
    generated("convex-6", "labels of a linear model, number 6 of six", Generated::Convex(5)),
    generated(
        "waveform_generated",
        "1000 waveforms generated here, for use when the file of the benchmark is not available",
        Generated::Waveform,
    ),
];

const fn generated(name: &'static str, about: &'static str, content: Generated) -> DataSet {
    let (origin, licence) = ("generated by this program", "none needed");
    let content = Content::Generated(content);
    DataSet { name, about, files: &[], content, origin, licence, by_hand: NOTHING }
}

/// The data set of a name.
pub fn find(name: &str) -> Result<&'static DataSet> {
    let known = || ALL.iter().map(|set| set.name).collect::<Vec<_>>().join(", ");
    let unknown = || DataError::Unfit(format!("unknown data set {name}; the data sets are {}", known()));
    ALL.iter().find(|set| set.name == name).ok_or_else(unknown)
}
