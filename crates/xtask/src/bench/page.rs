//! The page that the bench writes.

use std::fmt::Write;

use anyhow::Result;

use super::{Measured, Pair, Tool};
use crate::process::stdout_of;
use crate::workspace::Workspace;

/// What was measured on.
pub(crate) struct Machine {
    processor: String,
    kernel: String,
    fio: String,
    commit: String,
}

impl Machine {
    /// This machine and these programs.
    pub(crate) fn here(workspace: &Workspace, fio: &Tool) -> Result<Machine> {
        let said = |program: &std::path::Path, words: &[&str]| {
            stdout_of(&mut workspace.command(program, words)).map(|text| text.trim().to_owned())
        };
        let info = std::fs::read_to_string("/proc/cpuinfo")?;
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Ok(Machine {
            processor: model.map_or("unknown processor", |(_, name)| name).to_owned(),
            kernel: said("uname".as_ref(), &["-sr"])?,
            fio: said(&fio.program, &["--version"])?,
            commit: said("git".as_ref(), &["describe", "--always", "--dirty"])?,
        })
    }
}

/// One case as a row of the table.
pub(crate) fn row(measured: &Measured) -> String {
    let column = |value: fn(&Pair) -> f64| median(measured.pairs.iter().map(value).collect());
    let ratios: Vec<f64> = measured.pairs.iter().map(|pair| pair.fio_ns / pair.iostrata_ns).collect();
    let (lowest, highest) =
        (ratios.iter().copied().fold(f64::MAX, f64::min), ratios.iter().copied().fold(0.0, f64::max));
    let (ours, theirs) = measured.instructions;
    format!(
        "| {} | {:.0} | {:.0} | {:.2} ({lowest:.2} to {highest:.2}) | {ours:.0} | {theirs:.0} |",
        measured.case.name,
        column(|pair| pair.iostrata_ns),
        column(|pair| pair.fio_ns),
        median(ratios),
    )
}

/// The middle value; of an even number, the mean of the middle two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], values[middle]) } else { values[middle] }
}

/// The whole page.
pub(crate) fn render(machine: &Machine, rounds: usize, measured: &[Measured]) -> String {
    let mut page = format!(
        "# Performance

Written by `cargo xtask bench`; do not edit.

What one I/O costs in CPU time, user and system, by the kernel's accounting of the whole process: a long run minus a
short one, divided by the I/Os between. Both programs run the same options in turn, pinned to the same core, with full
statistics. \"fio / iostrata\" is the median of {rounds} paired ratios, with the lowest and the highest. Instructions
are user instructions per I/O as callgrind counts them: a run of 60,000 I/Os minus one of 10,000, divided by 50,000.

- processor: {}
- kernel: {}
- fio: {} (Debian's)
- iostrata: {}

| case | iostrata, ns | fio, ns | fio / iostrata | iostrata, instructions | fio, instructions |
|---|---:|---:|---:|---:|---:|
",
        machine.processor, machine.kernel, machine.fio, machine.commit
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
        assert_eq!(row, "| null-randread-32 | 20 | 40 | 2.00 (1.00 to 5.00) | 300 | 3000 |");
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn the_page_names_the_machine_and_every_case() {
        let machine =
            Machine { processor: "P".to_owned(), kernel: "K".to_owned(), fio: "F".to_owned(), commit: "C".to_owned() };
        let page = render(&machine, 7, &[measured(&[(1.0, 2.0)])]);
        for word in ["processor: P", "kernel: K", "fio: F", "iostrata: C", "--ioengine=null", "median of 7"] {
            assert!(page.contains(word), "{word} is not in\n{page}");
        }
    }
}
