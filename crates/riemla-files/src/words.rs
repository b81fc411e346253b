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

/// One line: as many problems as have room, then the number of those left out.
pub fn few(problems: &[String]) -> String {
    const ROOM: usize = 200;
    let mut length = 0;
    let fits = |problem: &&String| {
        length += problem.chars().count();
        length <= ROOM
    };
    let shown = problems.iter().take_while(fits).count().max(1);
    let first: Vec<&str> = problems.iter().take(shown).map(String::as_str).collect();
    let more = problems.len().saturating_sub(shown);
    let rest = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("  {}{rest}", first.join("; "))
}

/// The name of a file with another ending.
pub fn as_safetensors(file: &str) -> String {
    std::path::Path::new(file).with_extension("safetensors").display().to_string()
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
