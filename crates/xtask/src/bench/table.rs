//! The section of the page about CPU time and instructions.

use std::fmt::Write;

use super::page::Machine;
use super::{Case, Measured, Pair, median};

/// One case as a row of the table.
pub(crate) fn row(measured: &Measured) -> String {
    let column = |value: fn(&Pair) -> f64| median(measured.pairs.iter().map(value).collect());
    let ratios: Vec<f64> = measured.pairs.iter().map(|pair| pair.fio_ns / pair.iostrata_ns).collect();
    let (lowest, highest) =
        (ratios.iter().copied().fold(f64::MAX, f64::min), ratios.iter().copied().fold(0.0, f64::max));
    let (ours, theirs) = measured.instructions;
    format!(
        "| {} | {:.0} | {:.0} | {:.2} ({lowest:.2} to {highest:.2}) | {} | {ours:.0} | {} | {} |",
        measured.case.name,
        column(|pair| pair.iostrata_ns),
        column(|pair| pair.fio_ns),
        median(ratios.clone()),
        goals(measured.case),
        // fio's clock is calibrated for a time, not a count: where that is in the difference it says nothing.
        if theirs > 0.0 { format!("{theirs:.0}") } else { "–".to_owned() },
        verdict(measured.case, median(ratios), ours),
    )
}

/// What a case must reach.
fn goals(case: &Case) -> String {
    let ratio = (case.goal > 0.0).then(|| format!("≥ {:.2}", case.goal));
    let instructions = (case.most > 0.0).then(|| format!("≤ {:.0} instructions", case.most));
    ratio.into_iter().chain(instructions).collect::<Vec<_>>().join(", ")
}

/// Whether it does, and why not.
fn verdict(case: &Case, ratio: f64, instructions: f64) -> String {
    if case.goal == 0.0 && case.most == 0.0 {
        return String::new();
    }
    let cheap = case.most == 0.0 || instructions <= case.most;
    if ratio >= case.goal && cheap {
        return "met".to_owned();
    }
    if case.why.is_empty() { "missed".to_owned() } else { format!("missed: {}", case.why) }
}

/// The whole section.
pub(crate) fn render(machine: &Machine, rounds: usize, measured: &[Measured]) -> String {
    let mut page = format!(
        "## CPU per I/O

What one I/O costs in CPU time, user and system, by the kernel's accounting of the whole process: a long run minus a
short one, divided by the I/Os between. Both programs run the same options in turn, pinned to the same core, with full
statistics. \"fio / iostrata\" is the median of {rounds} paired ratios, with the lowest and the highest. Instructions
are user instructions per I/O as callgrind counts them: a run of 60,000 I/Os minus one of 10,000, divided by 50,000.

{}
| case | iostrata, ns | fio, ns | fio / iostrata | must reach | iostrata, instructions | fio, instructions | |
|---|---:|---:|---:|---|---:|---:|---|
",
        machine.list()
    );
    for one in measured {
        page.push_str(&row(one));
        page.push('\n');
    }
    page.push_str("\nThe cases, as options of either program:\n\n```text\n");
    for one in measured {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "{}\n    {}", one.case.name, one.case.job().join(" "));
    }
    page.push_str("```\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::NULL_RANDREAD;

    fn measured(pairs: &[(f64, f64)]) -> Measured {
        let pairs = pairs.iter().map(|&(iostrata_ns, fio_ns)| Pair { iostrata_ns, fio_ns }).collect();
        Measured { case: &NULL_RANDREAD, pairs, instructions: (300.0, 3000.0) }
    }

    #[test]
    fn the_ratio_is_the_median_of_the_pairs_not_the_ratio_of_the_medians() {
        // Paired ratios are 2, 5 and 1; the medians of the columns are 20 and 40.
        let row = row(&measured(&[(10.0, 20.0), (20.0, 100.0), (40.0, 40.0)]));
        let goals = "≥ 4.50, ≤ 400 instructions";
        assert_eq!(
            row,
            format!("| null-randread-32 | 20 | 40 | 2.00 (1.00 to 5.00) | {goals} | 300 | 3000 | missed |")
        );
    }

    #[test]
    fn a_goal_is_met_in_all_its_parts_or_missed_with_the_reason() {
        assert_eq!(verdict(&NULL_RANDREAD, 4.5, 400.0), "met");
        assert_eq!(verdict(&NULL_RANDREAD, 9.0, 401.0), "missed");
        assert_eq!(verdict(&Case { why: "w", ..NULL_RANDREAD }, 4.4, 1.0), "missed: w");
        assert_eq!(verdict(&Case { goal: 0.0, most: 0.0, ..NULL_RANDREAD }, 0.1, 1e6), "");
    }

    #[test]
    fn the_section_names_the_machine_and_every_case() {
        let page = render(&Machine::example(), 7, &[measured(&[(1.0, 2.0)])]);
        for word in ["processor: P", "kernel: K", "fio: F", "iostrata: C", "--ioengine=null", "median of 7"] {
            assert!(page.contains(word), "{word} is not in\n{page}");
        }
    }
}
