//! The data sets of the experiments: where they come from, where they are, whether they are intact.

mod convert;
mod error;
mod fetch;
mod generate;
mod legacy_random;
mod load;
mod locate;
mod registry;
mod status;

pub use convert::Tables;
pub use error::DataError;
pub use fetch::{Fetched, fetch};
pub use generate::Generated;
pub use legacy_random::{NumpyRandom, train_test_split};
pub use load::{Loaded, check_file, load};
pub use locate::{DataDirs, VARIABLE};
pub use registry::{ALL, Content, DataFile, DataSet, Source, find};
pub use status::presence;

/// Results of this module.
pub type Result<T> = std::result::Result<T, DataError>;
