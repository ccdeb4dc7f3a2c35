//! The `iostrata` program: joins the crates, one file per subcommand.

mod bandwidth;
mod beside;
mod commands;
mod listen;
mod logs;
mod output;
mod recording;
mod screen;
mod status;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

/// A subcommand: its word, and what carries out the words after it.
type Subcommand = (&'static str, fn(&[OsString]) -> ExitCode);

/// The subcommands that exist; everything else is a fio command line.
const SUBCOMMANDS: &[Subcommand] = &[
    ("run", |arguments| commands::run::run(arguments, false)),
    ("quick", commands::quick::run),
    ("report", commands::report::run),
    ("generate", commands::generate::run),
];

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let called_fio = words
        .next()
        .is_some_and(|program| std::path::Path::new(&program).file_name().is_some_and(|name| name == "fio"));
    let words: Vec<OsString> = words.collect();
    if called_fio {
        return commands::run::run(&words, true);
    }
    let subcommand = words.first().and_then(|first| SUBCOMMANDS.iter().find(|(name, _)| first == name));
    match subcommand {
        Some((_, command)) => command(&words[1..]),
        None => commands::run::run(&words, false),
    }
}
