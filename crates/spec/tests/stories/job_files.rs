//! Sections, comments, includes, substitution.

use iostrata_spec::Size;

use crate::world::{World, errors_of, jobs_of};

#[test]
fn globals_are_a_template_for_what_follows() {
    let jobs = jobs_of("[global]\nbs=8k\n[a]\n[global]\niodepth=4\n[b]\nbs=1k\n[globalisation]\nbs=2k\n[c]\n");
    let seen: Vec<_> = jobs.iter().map(|j| (j.name.as_str(), j.block_size.read, j.depth)).collect();
    assert_eq!(seen, [("a", 8192, 1), ("b", 1024, 4), ("c", 2048, 4)]);
}

#[test]
fn only_lower_case_global_is_a_template() {
    let jobs = jobs_of("[Global]\nbs=8k\n[a]\n");
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[1].block_size.read, 4096);
}

#[test]
fn a_name_changes_what_is_shown_and_not_the_section() {
    let jobs = jobs_of("[global]\nname=ignored\n[x]\nname=shown\n[y]\n");
    assert_eq!((jobs[0].name.as_str(), jobs[0].section.as_str()), ("shown", "x"));
    assert_eq!(jobs[1].name, "y");
}

#[test]
fn names_of_sections_keep_blanks_and_brackets() {
    let jobs = jobs_of("[ a b ]\n[c]d]\n[/dev/loop0]\n");
    let names: Vec<_> = jobs.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, [" a b ", "c]d", "/dev/loop0"]);
}

#[test]
fn comments_begin_anywhere_and_lines_may_end_in_two_ways() {
    let jobs = jobs_of("; one\n# two\r\n\r\n[j] ; three\r\n  bs=8k;four\r\n\tdescription=cut # off\r\n");
    assert_eq!(jobs[0].block_size.read, 8192);
    assert_eq!(jobs[0].description.as_deref(), Some("cut"));
}

#[test]
fn the_last_of_several_holds_and_words_stay_as_typed() {
    let jobs = jobs_of("[j]\nblocksize=1k\nbs=2K\nthread\nreadwrite=randread\n");
    assert_eq!(jobs[0].block_size.read, 2048);
    let words: Vec<_> = jobs[0].words.iter().map(|w| (w.name.as_str(), w.value.as_str())).collect();
    assert_eq!(words, [("bs", "1k"), ("bs", "2K"), ("thread", ""), ("rw", "randread")]);
}

#[test]
fn kb_base_works_from_any_line() {
    assert_eq!(jobs_of("[j]\nbs=4k\nkb_base=1000\n")[0].block_size.read, 4000);
    assert_eq!(jobs_of("[global]\nkb_base=1000\n[j]\nbs=4k\n")[0].block_size.read, 4000);
}

#[test]
fn includes_are_relative_to_the_file_they_stand_in() {
    let world = World::default()
        .file("dir/j.fio", "[j]\ninclude sub/a.inc\niodepth=2\n")
        .file("dir/sub/a.inc", "; options only\nbs=8k\ninclude b.inc\n")
        .file("dir/sub/b.inc", "rw=write\niodepth=9\n");
    let jobs = world.jobs(&["dir/j.fio"]);
    assert_eq!((jobs[0].block_size.read, jobs[0].workload.writes, jobs[0].depth), (8192, true, 2));
}

#[test]
fn includes_that_go_wrong_say_so() {
    let world = World::default()
        .file("missing.fio", "[j]\ninclude nowhere.inc\n")
        .file("section.fio", "[j]\ninclude s.inc\n")
        .file("s.inc", "[k]\n")
        .file("loop.fio", "[j]\ninclude loop.inc\n")
        .file("loop.inc", "include loop.inc\ninclude loop.inc\n");
    assert!(world.errors(&["missing.fio"])[0].contains("nowhere.inc"));
    assert!(world.errors(&["section.fio"])[0].contains("no sections"));
    assert!(world.errors(&["loop.fio"]).iter().any(|e| e.contains("nested too deeply")));
}

#[test]
fn the_environment_is_put_in_where_it_is_named() {
    let world = World::default()
        .file("j.fio", "[j]\nfilename=${DIR}/x${NOTHING}y\nbs=${N}k\n${OPTION}=3\ndescription=$DIR ${open\n")
        .env("DIR", "/mnt")
        .env("N", "8")
        .env("OPTION", "iodepth");
    let jobs = world.jobs(&["j.fio"]);
    assert_eq!(jobs[0].filenames, ["/mnt/xy"]);
    assert_eq!((jobs[0].block_size.read, jobs[0].depth), (8192, 3));
    assert_eq!(jobs[0].description.as_deref(), Some("$DIR ${open"));
    assert_eq!(world.jobs(&["--name=x", "--description=${DIR}"])[0].description.as_deref(), Some("${DIR}"));
}

#[test]
fn facts_of_the_machine_are_put_in_and_computed_with() {
    let jobs = jobs_of(
        "[j]\nbs=$pagesize\nsize=8*$mb_memory*1024\nnumjobs=$ncpus\n[k]\nsize=($pagesize+1)*2\ndescription=a-$ncpus\n",
    );
    assert_eq!((jobs[0].block_size.read, jobs[0].clones), (4096, 6));
    assert_eq!(jobs[0].size, Some(Size::Bytes(8 * 3072 * 1024)));
    assert_eq!(jobs[1].size, Some(Size::Bytes(8194)));
    assert_eq!(jobs[1].description.as_deref(), Some("a-6"));
}

#[test]
fn what_has_no_place_is_refused() {
    assert!(errors_of("rw=read\n[j]\n")[0].contains("outside of any"));
    assert!(errors_of("[j\nrw=read\n")[0].contains("`]` is missing"));
    assert!(errors_of("[j] junk\n")[0].contains("`junk`"));
    assert!(errors_of("[j]\n=5\n")[0].contains("name is missing"));
    assert_eq!(errors_of("[global]\nbs=4k\n"), ["No job(s) defined"]);
    assert_eq!(errors_of(""), ["No job(s) defined"]);
}

#[test]
fn a_device_given_as_a_job_file_is_recognised() {
    let world = World::default().file("/dev/sdx", "\0\0\0");
    assert!(world.errors(&["--name=x", "/dev/sdx"])[0].contains("no job file"));
}

#[test]
fn sections_can_be_chosen() {
    let world = World::default().file("j.fio", "[global]\nbs=8k\n[a]\n[b]\n[c]\n");
    let names = |args: &[&str]| world.jobs(args).into_iter().map(|j| j.name).collect::<Vec<_>>();
    assert_eq!(names(&["j.fio", "--section=b"]), ["b"]);
    assert_eq!(names(&["--section=c", "--section=a", "j.fio"]), ["a", "c"]);
    assert_eq!(world.jobs(&["j.fio", "--section=b"])[0].block_size.read, 8192);
    assert_eq!(world.errors(&["j.fio", "--section=d"]), ["No job(s) defined"]);
    assert!(world.errors(&["j.fio", "--section=global"])[0].contains("global"));
}

#[test]
fn a_file_without_a_trailing_line_feed_and_one_from_standard_input() {
    let world = World::default().file("-", "[j]\nbs=8k");
    assert_eq!(world.jobs(&["-"])[0].block_size.read, 8192);
}
