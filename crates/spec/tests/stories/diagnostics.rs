//! What a person sees when something is wrong.

use iostrata_spec::render_diagnostics;
use snapbox::{assert_data_eq, file, str};

use crate::world::World;

fn shown(world: &World, args: &[&str]) -> String {
    match world.run(args) {
        Ok(invocation) => render_diagnostics(&invocation.diagnostics, false),
        Err(list) => render_diagnostics(&list, false),
    }
}

#[test]
fn errors_of_a_job_file() {
    let text = "[global]\nbs = 8k\nruntime=10min ; long\n\n[job one]\nrw=raed\nio_engine=null\nrate=1m\nrate_iops=5\n";
    let world = World::default().file("jobs/bad.fio", text);
    assert_data_eq!(shown(&world, &["jobs/bad.fio"]), file!["diagnostics/errors_of_a_job_file.txt"]);
}

#[test]
fn errors_of_a_command_line() {
    let args = ["--name=two words", "--bs=4-64k", "--hipri", "--zonemode=zbd", "--ioengine=sync", "--iodept=4"];
    assert_data_eq!(shown(&World::default(), &args), file!["diagnostics/errors_of_a_command_line.txt"]);
}

#[test]
fn an_option_that_will_never_be() {
    let args = ["--name=x", "--client=host", "--rwmixcycle=4"];
    assert_data_eq!(
        shown(&World::default(), &args),
        str![[r#"
error: `--client` is not supported: there is no client and server mode
 --> command line:1:10
  |
1 | --name=x --client=host --rwmixcycle=4
  |          ^^^^^^^^
  |
  = help: instead: start one rank per host with MPI; the ranks' results are merged
error: `rwmixcycle` is not supported: fio has dropped it
 --> command line:1:24
  |
1 | --name=x --client=host --rwmixcycle=4
  |                        ^^^^^^^^^^^^
  |
  = help: instead: leave it out

"#]]
    );
}

#[test]
fn nothing_to_do() {
    assert_data_eq!(
        shown(&World::default(), &[]),
        str![[r#"
error: No job(s) defined
 |
 = help: name a job file, or give --name=JOB and its options; see --help

"#]]
    );
}

#[test]
fn a_value_from_the_environment_is_underlined_as_a_whole() {
    let world = World::default().file("e.fio", "[j]\nbs=${SIZE}\n").env("SIZE", "4q");
    assert_data_eq!(
        shown(&world, &["e.fio"]),
        str![[r#"
error: `bs`: `q` is no unit
 --> e.fio:2:1
  |
2 | bs=${SIZE}
  | ^^^^^^^^^^
  |
  = help: units are k, m, g, t, p (with `b` or `ib` after them, if you like)

"#]]
    );
}

#[test]
fn colour_is_there_when_asked_for() {
    let list = World::default().run(&["--nonsense"]).unwrap_err();
    assert!(render_diagnostics(&list, true).contains('\u{1b}'));
    assert!(!render_diagnostics(&list, false).contains('\u{1b}'));
}
