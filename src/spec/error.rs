//! What is wrong with a profile.

use std::io;

use super::source::Place;
use super::text::one_line;

/// The first mistake of a hardware profile, a test profile or a `--set`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The file does not exist.
    #[error("{file}: there is no such file; check the path, which counts from the working directory")]
    NotFound {
        /// The file as it was named.
        file: String,
    },
    /// The path names a directory.
    #[error("{file}: is a directory; name one .yaml file in it")]
    Directory {
        /// The file as it was named.
        file: String,
    },
    /// The file cannot be read.
    #[error("{file}: cannot be read ({source}); check its permissions")]
    Unreadable {
        /// The file as it was named.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The file is too large to be a profile.
    #[error("{file}: is larger than 1 MiB; a profile is a short YAML file, check the path")]
    TooLarge {
        /// The file as it was named.
        file: String,
    },
    /// The file is not text.
    #[error("{file}:{line}: is not UTF-8 text; save it as UTF-8")]
    NotUtf8 {
        /// The file as it was named.
        file: String,
        /// Line of the first wrong byte, from 1.
        line: usize,
    },
    /// The file holds no document.
    #[error("{file}:1: is empty; write the profile's keys, starting with `name:`")]
    Empty {
        /// The file as it was named.
        file: String,
    },
    /// Something at a place is wrong.
    #[error("{place}: {message}{}", .place.snippet().map(|snippet| format!("\n{snippet}")).unwrap_or_default())]
    Refused {
        /// Where.
        place: Box<Place>,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A `--set` argument that names no field.
    #[error("--set {}: {message}", one_line(.argument))]
    Override {
        /// The argument.
        argument: String,
        /// What is wrong and what would be right.
        message: String,
    },
}
