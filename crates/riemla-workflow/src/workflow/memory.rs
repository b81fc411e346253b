//! Memory: how much there is, and how much of it a fit will take.

use riemla::curvature::{Structure, Subset, memory_estimate};
use riemla::nn::Network;

use super::error::{Result, WorkflowError};

/// Rank of the structure that is suggested: that of the networks in docs/results/scale.md.
const SUGGESTED_RANK: usize = 20;

/// Bytes that can be taken without swapping, if the system tells; cgroup limits count.
pub fn available() -> Option<u64> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let machine = Some(system.available_memory()).filter(|bytes| *bytes > 0);
    let group = system.cgroup_limits().map(|limits| limits.free_memory);
    match (machine, group) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (found, other) => found.or(other),
    }
}

/// `1.5 GB` and the like.
pub fn in_words(bytes: u64) -> String {
    let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 || value >= 100.0 {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// Bytes of a fit; an error before anything is allocated if they are not there.
pub fn check_fit(
    network: &Network,
    structure: Structure,
    subset: &Subset,
    limit: Option<u64>,
) -> Result<u64> {
    let needed = estimate(network, structure, subset)?;
    let Some(limit) = limit.filter(|limit| needed > *limit) else { return Ok(needed) };
    let k = subset.ranges(network)?.len();
    Err(WorkflowError::Memory {
        what: format!("a {} posterior of {k} weights", name(structure)),
        needed,
        available: limit,
        remedy: remedy(network, structure, subset, limit)?,
    })
}

fn estimate(network: &Network, structure: Structure, subset: &Subset) -> Result<u64> {
    Ok(memory_estimate(structure, network, &subset.ranges(network)?)? as u64)
}

/// The name of a structure on the command line.
pub fn name(structure: Structure) -> &'static str {
    match structure {
        Structure::Full => "full",
        Structure::Diagonal => "diagonal",
        Structure::Kronecker => "kron",
        Structure::LowRank { .. } => "low-rank",
    }
}

/// What would fit, in the words of the command line.
fn remedy(network: &Network, asked: Structure, subset: &Subset, limit: u64) -> Result<String> {
    let last = Subset::LastLayer;
    let rank = Structure::LowRank { rank: SUGGESTED_RANK };
    // Draws along geodesics are best with the largest eigenpairs on larger networks, `lin-la` is with Kronecker factors
    // (docs/results/scale.md).
    let structures = [rank, Structure::Kronecker, Structure::Diagonal, Structure::Full];
    let mut fits = Vec::new();
    for (subset, flag) in [(subset, ""), (&last, " --subset last-layer")] {
        for structure in structures {
            let known = fits.iter().any(|(s, _, _): &(Structure, &str, u64)| *s == structure);
            if (structure == asked && flag.is_empty()) || known {
                continue;
            }
            let bytes = estimate(network, structure, subset).unwrap_or(u64::MAX);
            if bytes <= limit {
                fits.push((structure, flag, bytes));
            }
        }
    }
    if fits.is_empty() {
        return Ok("use a machine with more memory, or a smaller network".into());
    }
    let option = |(structure, flag, bytes): &(Structure, &str, u64)| {
        let rank = if let Structure::LowRank { rank } = structure {
            format!(" --rank {rank}")
        } else {
            String::new()
        };
        let best = match structure {
            Structure::LowRank { .. } => "for riem-la, ",
            Structure::Kronecker => "for lin-la, ",
            _ => "",
        };
        format!("--structure {}{rank}{flag} ({best}{})", name(*structure), in_words(*bytes))
    };
    Ok(format!("these would fit: {}", fits.iter().map(option).collect::<Vec<_>>().join(", ")))
}
