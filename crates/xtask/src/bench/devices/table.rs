//! The section of the page.

use super::run::{TRACED_IOS, job};
use super::verdict::{Comparison, Verdict, comparisons};
use super::{Conditions, Measured, Place, Round, target};
use crate::bench::median;
use crate::bench::page::Machine;

/// One case: a line for each metric.
pub(super) fn row(measured: &Measured) -> String {
    let compared = comparisons(&measured.rounds);
    let name = measured.case.name();
    let rounds = measured.rounds.len();
    compared.iter().map(|one| line(&name, one, rounds)).collect::<Vec<_>>().join("\n")
}

fn line(name: &str, one: &Comparison, rounds: usize) -> String {
    let metric = one.metric;
    format!(
        "| {name} | {} | {}{unit} | {}{unit} | {:.3} | {:.3} to {:.3} | {} of {rounds} | {} |",
        metric.name,
        short(one.iostrata / metric.divisor),
        short(one.fio / metric.divisor),
        one.ratio,
        1.0 / one.limit,
        one.limit,
        one.higher,
        said(one),
        unit = metric.unit,
    )
}

/// Three digits or more.
fn short(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn said(one: &Comparison) -> String {
    let word = match one.verdict() {
        Verdict::Agrees => return "agrees".to_owned(),
        Verdict::Better => "better",
        Verdict::Worse => "**worse**",
    };
    let direction = if one.ratio > 1.0 { "higher" } else { "lower" };
    format!("differs: {:.1}% {direction}, {word}", (one.ratio - 1.0).abs() * 100.0)
}

fn cost(measured: &Measured) -> String {
    let ours = median(measured.rounds.iter().map(|round| round.iostrata.cpu_ns_per_io).collect());
    let theirs = median(measured.rounds.iter().flat_map(|round| round.fio.map(|run| run.cpu_ns_per_io)).collect());
    let paired = |round: &Round| round.fio[0].cpu_ns_per_io / round.iostrata.cpu_ns_per_io;
    let (our_calls, their_calls) = measured.calls;
    format!(
        "| {} | {ours:.0} | {theirs:.0} | {:.2} | {our_calls:.2} | {their_calls:.2} |\n",
        measured.case.name(),
        median(measured.rounds.iter().map(paired).collect()),
    )
}

/// The whole section.
pub(super) fn section(machine: &Machine, conditions: &Conditions, measured: &[Measured]) -> String {
    let compared: Vec<Comparison> = measured.iter().flat_map(|one| comparisons(&one.rounds)).collect();
    let count = |verdict| compared.iter().filter(|one| one.verdict() == verdict).count();
    let mut text = format!(
        "## On devices

The same work on the same bytes: a file of {size} that fio laid out once ({disk}),
named `file`, and a loop device with direct I/O over that file, named `loop`. Random blocks of 4 KiB with `direct=1`,
not pinned to a core; each run in a session of its own, as Linux shares the processors among sessions first.

In the cases named `batched` both programs are told how many requests go down and come up together. The others have
each program's default: fio submits and reaps one at a time, iostrata all that is there, at most 8 to a submitting call.
Where the disk is fast, as here, this decides how much CPU the program itself needs, and whether it is the disk or the
program that is measured; so `batched` shows whether the same work gives the same numbers, the others what the default
makes of it.

Each round runs iostrata once and fio twice, one second each, in an order drawn by lot, all three with the same
`randseed`. \"iostrata / fio\" is the median over {rounds} rounds of the ratio of iostrata's run to the first of fio's
two, where the lot says which of them is the first. \"fio / fio\" is what fio shows against itself: of the {rounds}
ratios of its second run to its first, the largest in either direction, r, as the interval from 1/r to r; for p50 and
p99 it is never narrower than one bin of the histogram, 1/64. A ratio inside this interval agrees. \"Higher in\" counts
the rounds in which iostrata's number was the higher one: a small difference that always has the same direction shows
there. p50 and p99 are percentiles of `clat_ns`. {agree} agree, {better} differ for the better, {worse} for the worse.

{machine}- seed: {seed}

| case | metric | iostrata | fio | iostrata / fio | fio / fio | higher in | verdict |
|---|---|---:|---:|---:|---:|---:|---|
",
        size = target::SIZE,
        disk = conditions.disk,
        rounds = conditions.rounds,
        agree = count(Verdict::Agrees),
        better = count(Verdict::Better),
        worse = count(Verdict::Worse),
        machine = machine.list(),
        seed = conditions.seed,
    );
    measured.iter().for_each(|one| text.push_str(&format!("{}\n", row(one))));
    let (few, many) = TRACED_IOS;
    text.push_str(&format!(
        "
What one I/O of these runs costs: CPU time, user and system, by the kernel's accounting of the process and its threads,
without that of a run of a single I/O (the kernel's own threads, such as those of the loop device, are in nobody's
account); and system calls of all threads, as strace counts them in a run of {many} I/Os minus one of {few}, where each
call takes longer than it does alone. CPU times are medians; \"fio / iostrata\" is the median of the paired ratios.

| case | iostrata, CPU ns | fio, CPU ns | fio / iostrata | iostrata, calls | fio, calls |
|---|---:|---:|---:|---:|---:|
"
    ));
    measured.iter().for_each(|one| text.push_str(&cost(one)));
    text.push_str(
        "\nThe cases, as options of either program (`--filename` names the file or the device):\n\n```text\n",
    );
    for one in measured.iter().filter(|one| one.case.place == Place::File) {
        text.push_str(&format!("{} --time_based --runtime=1 --randseed=N --filename=…\n", job(one.case).join(" ")));
    }
    text.push_str("```\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::devices::{Case, Reading};

    fn measured(ours_iops: f64) -> Measured {
        let run = |iops| Reading { iops, p50_ns: 20_000.0, p99_ns: 150_000.0, cpu_ns_per_io: 1e9 / iops };
        Measured {
            case: Case { place: Place::File, engine: "psync", rw: "randread", depth: 1, batched: false },
            rounds: vec![Round { iostrata: run(ours_iops), fio: [run(1_000.0), run(800.0)] }],
            calls: (1.0, 2.0),
        }
    }

    #[test]
    fn a_row_shows_both_numbers_the_interval_and_the_verdict() {
        let text = row(&measured(1_500.0));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "| file-psync-randread-1 | IOPS | 1500 | 900 | 1.500 | 0.800 to 1.250 | 1 of 1 | \
             differs: 50.0% higher, better |"
        );
        assert_eq!(
            lines[1],
            "| file-psync-randread-1 | p50 | 20.0 µs | 20.0 µs | 1.000 | 0.985 to 1.016 | 0 of 1 | agrees |"
        );
        assert!(row(&measured(500.0)).contains("differs: 50.0% lower, **worse**"));
    }

    #[test]
    fn the_section_counts_verdicts_and_names_what_was_run() {
        let conditions = Conditions { rounds: 1, seed: 77, disk: "ext4 on /dev/sda1".to_owned() };
        let text = section(&Machine::example(), &conditions, &[measured(500.0)]);
        for wanted in [
            "2 agree, 0 differ for the better, 1 for the worse",
            "ext4 on /dev/sda1",
            "- seed: 77",
            "- kernel: K",
            "| file-psync-randread-1 | 2000000 | 1125000 | 0.50 | 1.00 | 2.00 |",
            "--ioengine=psync",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
    }
}
