//! Which shard this process is, by the variables that schedulers and MPI launchers set.

use riemla_files::Shard;

use super::error::{Result, WorkflowError};

/// A launcher: the variables with the number of the process (from 0) and how many there are.
const LAUNCHERS: [(&str, &str, &str); 5] = [
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI", "PMI_RANK", "PMI_SIZE"),
    ("PMIx", "PMIX_RANK", "PMIX_SIZE"),
    ("Slurm tasks", "SLURM_PROCID", "SLURM_NTASKS"),
    ("a Kubernetes indexed job", "JOB_COMPLETION_INDEX", "RIEMLA_SHARDS"),
];

/// The shard of this process, and who says so. Launchers inside a Slurm job come before Slurm itself, and tasks (if
/// there are several) before array jobs.
pub fn shard(variable: impl Fn(&str) -> Option<String>) -> Result<(Shard, &'static str)> {
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u64>().ok());
    let array = || {
        let (id, first) = (number("SLURM_ARRAY_TASK_ID")?, number("SLURM_ARRAY_TASK_MIN")?);
        let step = number("SLURM_ARRAY_TASK_STEP").filter(|step| *step > 0).unwrap_or(1);
        Some((id.checked_sub(first)? / step, number("SLURM_ARRAY_TASK_COUNT")?))
    };
    for (name, rank, size) in LAUNCHERS {
        if let (Some(rank), Some(of)) = (number(rank), number(size)) {
            // One task per job of an array is the usual way to run an array.
            if name == "Slurm tasks" && of == 1 && array().is_some() {
                continue;
            }
            return Ok((Shard::new(rank + 1, of).map_err(WorkflowError::Unfit)?, name));
        }
    }
    if let Some((rank, of)) = array() {
        return Ok((Shard::new(rank + 1, of).map_err(WorkflowError::Unfit)?, "a Slurm array job"));
    }
    Err(WorkflowError::unfit(
        "--shard auto finds no launcher: neither Open MPI, PMI, PMIx, Slurm nor Kubernetes (an indexed job, with \
         RIEMLA_SHARDS as the number of its pods) has set its variables; give the shard as --shard K/N",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<String> {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        shard(find).ok().map(|(shard, _)| shard.to_string())
    }

    #[test]
    fn every_launcher_is_known() {
        let some = |text: &str| Some(text.to_string());
        assert_eq!(of(&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4")]), some("3/4"));
        assert_eq!(of(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]), some("1/2"));
        assert_eq!(of(&[("SLURM_PROCID", "7"), ("SLURM_NTASKS", "8")]), some("8/8"));
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "1"), ("RIEMLA_SHARDS", "3")]), some("2/3"));
        let array = [
            ("SLURM_ARRAY_TASK_ID", "14"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "5"),
        ];
        assert_eq!(of(&array), some("3/5"));
        let one_task = [&array[..], &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")]].concat();
        assert_eq!(of(&one_task), some("3/5"), "an array of single tasks");
        let mpi = [&array[..], &[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")]].concat();
        assert_eq!(of(&mpi), some("2/2"));
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "1")]), None);
        assert_eq!(of(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), None);
    }
}
