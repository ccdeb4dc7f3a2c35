//! Engines that work on names: what each I/O is, what is there afterwards, and what they refuse.

#![cfg(unix)]

use iostrata_testkit::{Folder, Outcome, iostrata, measure};

fn run(folder: &Folder, words: &str) -> Outcome {
    let words: Vec<&str> = words.split_whitespace().collect();
    measure(iostrata(), &words, folder.path())
}

/// I/Os in all, the latencies among them that were measured, and the bytes, of the only job.
fn counts(outcome: &Outcome) -> (u64, u64, u64) {
    let job = &outcome.json.as_ref().unwrap_or_else(|| panic!("no document: {}", outcome.stderr))["jobs"][0];
    let sum = |path: &str| ["/read", "/write", "/trim"].map(|way| job.pointer(&format!("{way}{path}")).unwrap());
    let [ios, latencies, bytes] = ["/total_ios", "/clat_ns/N", "/io_bytes"]
        .map(|path| sum(path).iter().map(|count| count.as_u64().unwrap()).sum::<u64>());
    (ios, latencies, bytes)
}

#[test]
fn each_name_has_one_io_however_long_its_file_is() {
    for (engine, left) in [("filecreate", 0), ("filestat", 64 << 10)] {
        let folder = Folder::new("one-each");
        let outcome = run(&folder, &format!("--name=j --ioengine={engine} --nrfiles=5 --filesize=64k --bs=4k"));
        assert_eq!((outcome.code, counts(&outcome)), (0, (5, 5, 5 * 4096)), "{}", outcome.stderr);
        assert_eq!(outcome.files.len(), 5);
        assert!(outcome.files.iter().all(|(_, bytes)| *bytes == left), "{engine}: {:?}", outcome.files);
    }
}

#[test]
fn trees_of_folders_are_made_looked_up_and_removed() {
    let folder = Folder::new("trees");
    let names = "--filename=a:a/b:a/b/c:d/e --filesize=4k";
    let made = run(&folder, &format!("--name=j --ioengine=dircreate {names}"));
    assert_eq!((made.code, counts(&made)), (0, (4, 4, 4 * 4096)), "{}", made.stderr);
    assert!(["a/b/c", "d/e"].iter().all(|name| folder.path().join(name).is_dir()), "d is made before, a by the job");
    let again = run(&folder, &format!("--name=j --ioengine=dircreate {names}"));
    assert!(again.code == 1 && again.stderr.contains("dircreate of a"), "{}", again.stderr);
    assert!(again.stderr.contains("it is there already: unlink_each_loop=1 removes"), "{}", again.stderr);
    let full = run(&folder, &format!("--name=j --ioengine=dirdelete {names}"));
    assert!(full.code == 1 && full.stderr.contains("dirdelete of a") && folder.path().join("a/b/c").is_dir());
    let inner_first = "--filename=a/b/c:a/b:a:d/e --filesize=4k";
    let found = run(&folder, &format!("--name=j --ioengine=dirstat {inner_first} --loops=3"));
    assert_eq!((found.code, counts(&found)), (0, (12, 12, 12 * 4096)), "{}", found.stderr);
    let gone = run(&folder, &format!("--name=j --ioengine=dirdelete {inner_first}"));
    assert_eq!((gone.code, counts(&gone).0), (0, 4), "{}", gone.stderr);
    assert!(!folder.path().join("a").exists() && !folder.path().join("d/e").exists());
    let laid_out = run(&folder, &format!("--name=j --ioengine=dirdelete {inner_first} --unlink=1"));
    assert_eq!((laid_out.code, counts(&laid_out).0), (0, 4), "they are made before: {}", laid_out.stderr);
    let loops = "--nrfiles=3 --filesize=4k --loops=4 --unlink_each_loop=1 --unlink=1";
    let loops = run(&folder, &format!("--name=j --ioengine=dircreate {loops}"));
    assert_eq!((loops.code, counts(&loops).0), (0, 12), "{}", loops.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().filter_map(Result::ok).count(), 1, "d, which no job made");
}

#[test]
fn missing_folders_of_files_are_made_before() {
    let folder = Folder::new("parents");
    let outcome = run(&folder, "--name=j --ioengine=filecreate --filename=x/y/a:x/b --filesize=4k");
    assert_eq!((outcome.code, counts(&outcome).0), (0, 2), "fio 3.33 fails here: {}", outcome.stderr);
    assert!(folder.path().join("x/y/a").is_file() && folder.path().join("x/b").is_file());
}

#[test]
fn a_file_that_was_removed_cannot_be_removed_again() {
    let folder = Folder::new("twice");
    let outcome = run(&folder, "--name=j --ioengine=filedelete --nrfiles=2 --filesize=4k --loops=2");
    assert_eq!((outcome.code, counts(&outcome).1), (1, 2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("filedelete of j.0.0: No such file"), "{}", outcome.stderr);
}

#[test]
fn devices_keep_their_names_and_what_has_no_meaning_is_refused() {
    let folder = Folder::new("refused");
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    folder.give("file", 4096);
    let cases = [
        ("filedelete --filename=/dev/null", "/dev/null is there and none of the regular files"),
        ("filecreate --filename=folder", "folder is there and none of the regular files that ioengine=filecreate"),
        ("dirdelete --filename=file", "file is there and none of the directories that ioengine=dirdelete works on"),
        ("filecreate --filename=a --rw=write --fsync=1", "fsync= has no open file to sync with ioengine=filecreate"),
        ("filecreate --filename=a --rw=write --fdatasync=1", "fdatasync= has no open file to sync"),
        ("filestat --filename=a --bsrange=1k-4k", "a range of block sizes has no meaning with ioengine=filestat"),
        ("filestat --filename=a --zonemode=strided --zonesize=4k", "zonemode= has no meaning with ioengine=filestat"),
    ];
    for (words, told) in cases {
        let outcome = run(&folder, &format!("--name=j --filesize=4k --ioengine={words}"));
        assert!(outcome.code == 1 && outcome.stderr.contains(told), "{words}: {}", outcome.stderr);
    }
    assert!(std::path::Path::new("/dev/null").exists() && folder.path().join("folder").is_dir());
    assert!(folder.path().join("file").is_file() && !folder.path().join("a").exists());
}
