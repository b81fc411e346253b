//! Results on stdout.

use std::io::{self, Write as _};

/// Prints to stdout; a reader that has seen enough (`| head`) is no failure.
pub fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Indented JSON with a line feed at its end.
pub fn json(value: &serde_json::Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
