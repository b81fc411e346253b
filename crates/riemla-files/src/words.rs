//! Pieces of error messages.

/// Up to ten names, then the number of those left out.
pub fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    let shown: Vec<String> = names.iter().take(10).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(10);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// The first names, then the number of those left out.
pub fn some(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    let more = names.len().saturating_sub(most);
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// What can be imported, as the end of a message.
pub fn supported_are(supported: &str) -> String {
    if supported.is_empty() { String::new() } else { format!(". What can be imported: {supported}") }
}

/// What to do about an error of the system, as the end of a message.
pub fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "; check the path",
        std::io::ErrorKind::PermissionDenied => "; check the permissions",
        std::io::ErrorKind::StorageFull
        | std::io::ErrorKind::FileTooLarge
        | std::io::ErrorKind::QuotaExceeded => {
            "; free some space and run the same command again: it continues, and no finished work is lost"
        }
        _ => "",
    }
}
