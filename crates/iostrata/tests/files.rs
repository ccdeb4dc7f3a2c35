//! Stories about files that need a look at what is left of them or at the notes.

#![cfg(target_os = "linux")]

use iostrata_testkit::compare::differences;
use iostrata_testkit::lines::Check;
use iostrata_testkit::{Folder, fio, iostrata, measure};

#[test]
fn appending_hints_and_syncs_of_ranges_do_what_fio_does() {
    let Some(fio) = fio() else { iostrata_testkit::skip!("comparing with fio", "apt-get install fio") };
    for line in [
        "--rw=write --filename=data --file_append=1 --size=16k",
        "--rw=read --filename=data --file_append=1 --size=4k",
        "--rw=write --size=64k --write_hint=short",
        "--rw=write --size=64k --sync_file_range=wait_before,write:3 --fsync=5",
    ] {
        let words: Vec<&str> = ["--name=j"].into_iter().chain(line.split_whitespace()).collect();
        let both = [fio.as_path(), std::path::Path::new(iostrata())].map(|program| {
            let folder = Folder::new("files");
            folder.give("data", 8192);
            measure(program, &words, folder.path())
        });
        let found = differences(Check::Exact, &both[0], &both[1]);
        assert!(found.is_empty(), "{line}: {found:?}");
    }
}
