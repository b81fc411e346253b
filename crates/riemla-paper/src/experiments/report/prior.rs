//! The study of priors: the same methods with the paper's prior and with the best one.

use super::super::results::mean;
use super::super::{Experiment, MethodName, PriorName, ResultRow, RunRecord};
use super::numbers::shown;
use super::{records_of, study, unique};
use riemla_workflow::report::{Section, Table, decimals};

const INTRO: &str = "\
Test NLL, lower is better, mean and standard error over seeds; the prior precision is the geometric mean over seeds, \
the log marginal likelihood and the gradient norm at the weights the means. The two marginal likelihoods cannot be \
compared: with the prior optimized the weights are no minimum of the loss under it (the gradient norm says how far), and \
the Laplace approximation of the evidence does not hold there.";

const LEADS: &str = "\
The lead of riem-la: NLL of the other method less that of riem-la. What is left of it in the column searched is not \
a repair of the prior.";

const METHODS: [MethodName; 4] = [MethodName::Map, MethodName::La, MethodName::LinLa, MethodName::RiemLa];

/// Whether the experiment is such a study.
pub fn is_study(experiment: &Experiment) -> bool {
    experiment.priors.contains(&PriorName::Searched)
}

/// The section of a study.
pub fn section(experiment: &Experiment, rows: &[ResultRow], records: &[RunRecord]) -> Section {
    let rows: Vec<&ResultRow> =
        rows.iter().filter(|row| row.experiment == experiment.name && row.score == "nll").collect();
    let records: Vec<&RunRecord> = records_of(experiment, records).collect();
    let sets = unique(rows.iter().map(|row| row.train_set.as_str()));
    let mut section = study(experiment, INTRO);
    section.table(scores(experiment, &sets, &rows, &records)).text(LEADS).table(leads(&sets, &rows));
    section
}

fn find<'a>(
    rows: &[&'a ResultRow],
    set: &str,
    prior: PriorName,
    method: MethodName,
) -> Option<&'a ResultRow> {
    rows.iter().copied().find(|row| row.train_set == set && row.prior == prior && row.method == method)
}

fn scores(experiment: &Experiment, sets: &[&str], rows: &[&ResultRow], records: &[&RunRecord]) -> Table {
    let mut table = Table::new(
        "set, prior",
        [
            "prior precision",
            "log marginal likelihood",
            "gradient norm",
            "map",
            "la",
            "lin-la",
            "riem-la",
            "seeds",
        ],
    );
    for set in sets {
        for prior in &experiment.priors {
            let of = |record: &&&RunRecord| {
                record.key.problem == *set
                    && record.key.prior == *prior
                    && record.key.method == MethodName::Map
            };
            let models: Vec<_> =
                records.iter().filter(of).filter_map(|record| record.model.as_ref()).collect();
            let precision = mean(models.iter().filter_map(|m| m.prior_precision).map(f64::ln));
            let evidence = mean(models.iter().filter_map(|m| m.log_marginal_likelihood));
            let gradient = mean(models.iter().map(|m| m.gradient_norm));
            let gradient = gradient.map_or("–".into(), |norm| format!("{norm:.1e}"));
            let mut cells = vec![decimals(precision.map(f64::exp), 3), decimals(evidence, 1), gradient];
            cells.extend(METHODS.map(|method| {
                find(rows, set, *prior, method).map_or("–".into(), |row| shown("nll", row.into()))
            }));
            cells.push(models.len().to_string());
            table.row(format!("{set}, {}", prior.name()), cells);
        }
    }
    table
}

fn leads(sets: &[&str], rows: &[&ResultRow]) -> Table {
    let columns =
        ["over map, optimized", "over map, searched", "over lin-la, optimized", "over lin-la, searched"];
    let mut table = Table::new("set", columns);
    for set in sets {
        let lead = |other: MethodName, prior: PriorName| {
            let value = |method| find(rows, set, prior, method).map(|row| row.mean);
            Some(value(other)? - value(MethodName::RiemLa)?)
        };
        let cells = [MethodName::Map, MethodName::LinLa]
            .into_iter()
            .flat_map(|other| [PriorName::Optimized, PriorName::Searched].map(|prior| lead(other, prior)));
        let signed = |lead: Option<f64>| lead.map_or("–".into(), |lead| format!("{lead:+.3}"));
        table.row(*set, cells.map(signed).collect::<Vec<String>>());
    }
    table
}
