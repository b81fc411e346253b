//! The kind of processor at hand: its features that decide which kernels run.

use std::sync::OnceLock;

const ARCHITECTURE: &str = if cfg!(target_arch = "x86_64") {
    "x86_64"
} else if cfg!(target_arch = "aarch64") {
    "aarch64"
} else {
    "other"
};

/// Architecture and features of this processor, as far as kernels of this crate, of faer or of the system's mathematical
/// functions are chosen by them. Results of processors with equal words have equal bits; of others they may differ in the
/// last ones.
pub fn processor() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let features = features();
        let found = features.iter().filter(|(_, found)| *found).map(|(name, _)| *name);
        std::iter::once(ARCHITECTURE).chain(found).collect::<Vec<_>>().join(" ")
    })
}

#[cfg(target_arch = "x86_64")]
fn features() -> [(&'static str, bool); 5] {
    [
        ("avx", std::is_x86_feature_detected!("avx")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("fma", std::is_x86_feature_detected!("fma")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
        ("avx512dq", std::is_x86_feature_detected!("avx512dq")),
    ]
}

/// Elsewhere the architecture decides alone.
#[cfg(not(target_arch = "x86_64"))]
fn features() -> [(&'static str, bool); 0] {
    []
}

#[cfg(test)]
mod tests {
    use super::processor;

    #[test]
    fn the_words_begin_with_the_architecture_and_stay() {
        assert!(processor().starts_with(super::ARCHITECTURE));
        assert_eq!(processor(), processor());
    }
}
