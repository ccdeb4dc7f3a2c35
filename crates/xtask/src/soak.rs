//! `cargo xtask soak`: the tests again and again, for what fails once in a hundred runs.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::ledger::Ledger;
use crate::session::{Fuzz, GROUPS, Session};
use crate::workspace::Workspace;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    time: Duration,
    stages: Vec<&'static str>,
}

/// Runs the chosen stages' tests until the time is up; stops at the first round with a failure.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<bool> {
    let options = parse(args)?;
    let mut session = Session::new(workspace);
    session.built()?;
    let start = Instant::now();
    let mut whole = Ledger::default();
    let mut rounds = 0;
    while whole.failed.is_empty() && start.elapsed() < options.time {
        rounds += 1;
        println!("== round {rounds}, after {} min", start.elapsed().as_secs() / 60);
        session.fuzz = fuzz_of(rounds, options.time);
        for stage in &options.stages {
            whole.merge(session.run_group(stage)?);
        }
    }
    println!("\n{rounds} rounds in {} min", start.elapsed().as_secs() / 60);
    if !whole.failed.is_empty() {
        println!("failed:\n  {}", whole.failed.join("\n  "));
    }
    println!("{}", whole.line());
    Ok(whole.failed.is_empty())
}

/// The parser is fuzzed for ten minutes in the first round, or half of a shorter soak, and each round has new inputs.
fn fuzz_of(round: u64, time: Duration) -> Fuzz {
    let seconds = if round == 1 { 600.min(time.as_secs() / 2) } else { 60 };
    Fuzz { seconds, seed: round }
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options { time: Duration::from_secs(3600), stages: Vec::new() };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--minutes" => {
                let minutes: u64 = value.parse().context("--minutes takes a number")?;
                options.time = Duration::from_secs(minutes * 60);
            }
            "--stage" => {
                let known = || GROUPS.iter().map(|group| group.stage).collect::<Vec<_>>().join(", ");
                let group = GROUPS.iter().find(|group| group.stage == value);
                let group =
                    group.with_context(|| format!("no test stage is called `{value}`; there are: {}", known()))?;
                options.stages.push(group.stage);
            }
            other => bail!("`{other}` is no option of `cargo xtask soak`"),
        }
    }
    if options.stages.is_empty() {
        options.stages = GROUPS.iter().map(|group| group.stage).collect();
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn by_default_every_group_soaks_for_an_hour() {
        let options = parsed(&[]).unwrap();
        assert_eq!((options.time.as_secs(), options.stages.len()), (3600, GROUPS.len()));
    }

    #[test]
    fn the_parser_is_fuzzed_for_ten_minutes_and_then_from_other_seeds() {
        let hour = Duration::from_secs(3600);
        assert_eq!(fuzz_of(1, hour), Fuzz { seconds: 600, seed: 1 });
        assert_eq!(fuzz_of(2, hour), Fuzz { seconds: 60, seed: 2 });
        assert_eq!(fuzz_of(1, Duration::from_secs(120)).seconds, 60);
    }

    #[test]
    fn time_and_stages_can_be_chosen() {
        let options = parsed(&["--minutes", "5", "--stage", "unit"]).unwrap();
        assert_eq!((options.time.as_secs(), options.stages), (300, vec!["unit"]));
        assert!(parsed(&["--stage", "fmt"]).unwrap_err().to_string().contains("unit"));
        assert!(parsed(&["--minutes"]).is_err());
        assert!(parsed(&["--hours", "2"]).is_err());
    }
}
