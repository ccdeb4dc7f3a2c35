//! The Debian packages that tests need: one table, and their installation.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{self, stdout_of, succeeds};

struct Package {
    name: &'static str,
    why: &'static str,
}

/// What the tests call, and why.
const PACKAGES: &[Package] = &[
    Package { name: "fio", why: "the judge of the differential tests and of the bench" },
    Package { name: "strace", why: "the oracle of open flags, offsets and the order of system calls" },
    Package { name: "bpftrace", why: "the oracle of queue depth in flight" },
    Package { name: "valgrind", why: "callgrind counts instructions per I/O" },
    Package { name: "mount", why: "mount, losetup, swapon" },
    Package { name: "util-linux", why: "taskset, unshare, lsblk, blkid, mkswap" },
    Package { name: "tzdata", why: "dates in other time zones" },
    Package { name: "e2fsprogs", why: "ext2, ext3, ext4: to measure on, and as content to recognise" },
    Package { name: "xfsprogs", why: "xfs: to measure on, and as content to recognise" },
    Package { name: "btrfs-progs", why: "btrfs: to measure on, and as content to recognise" },
    Package { name: "nbdkit", why: "a disk server with errors on demand" },
    Package { name: "libnbd-bin", why: "nbdfuse: that server's disk as a file, whose requests can be made to hang" },
    Package { name: "librados2", why: "what the real library says of a Ceph cluster that is not there" },
    Package { name: "librbd1", why: "the same, of images" },
    Package { name: "fdisk", why: "sfdisk: partition tables to recognise" },
    Package { name: "lvm2", why: "physical volumes to recognise" },
    Package { name: "cryptsetup-bin", why: "encrypted disks to recognise" },
    Package { name: "dosfstools", why: "FAT to recognise" },
    Package { name: "exfatprogs", why: "exFAT to recognise" },
    Package { name: "ntfs-3g", why: "NTFS to recognise" },
    Package { name: "f2fs-tools", why: "F2FS to recognise" },
    Package { name: "jfsutils", why: "JFS to recognise" },
    Package { name: "squashfs-tools", why: "squashfs to recognise" },
    Package { name: "erofs-utils", why: "EROFS to recognise" },
    Package { name: "genisoimage", why: "ISO 9660 to recognise" },
    Package { name: "chromium", why: "the page in a real browser" },
    Package { name: "prometheus", why: "promtool, and a real scrape of the metrics" },
    Package { name: "nbdkit", why: "a server of network block devices" },
    Package { name: "qemu-utils", why: "another, and a client" },
    Package { name: "libnbd-bin", why: "nbdcopy, a client" },
    Package { name: "python3-venv", why: "programs that read fio's reports, from their registry" },
];

/// Brings what is missing, as root on Debian; else says what is missing and how to bring it.
pub(crate) fn provide(may_install: bool) -> Result<()> {
    let Some(dpkg) = process::which("dpkg-query") else {
        println!("packages: not a Debian system; tests skip where a program is missing");
        return Ok(());
    };
    let missing = missing(&dpkg)?;
    if missing.is_empty() {
        println!("packages: all {} are installed", PACKAGES.len());
        return Ok(());
    }
    for package in &missing {
        println!("packages: missing {:12} {}", package.name, package.why);
    }
    let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
    let command = format!("apt-get install --no-install-recommends {}", names.join(" "));
    if !may_install || !is_root()? {
        let reason = if may_install { "not root" } else { "--no-install" };
        println!("packages: not installed ({reason}); bring them: {command}");
        return Ok(());
    }
    println!("packages: {command}");
    install(&names)
}

fn missing(dpkg: &Path) -> Result<Vec<&'static Package>> {
    let mut query = Command::new(dpkg);
    query.args(["-W", "-f=${db:Status-Status} ${Package}\\n"]).args(PACKAGES.iter().map(|package| package.name));
    // It fails when one package is unknown, and still lists the others.
    let output = query.output().with_context(|| format!("cannot run {}", process::shown(&query)))?;
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(not_installed(&listed))
}

fn not_installed(listed: &str) -> Vec<&'static Package> {
    let installed: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix("installed ")).collect();
    PACKAGES.iter().filter(|package| !installed.contains(&package.name)).collect()
}

/// Whether this program runs as root.
pub(crate) fn is_root() -> Result<bool> {
    Ok(stdout_of(Command::new("id").arg("-u"))?.trim() == "0")
}

fn install(names: &[&str]) -> Result<()> {
    let quiet = NoServices::begin()?;
    // Without a network the update fails, and the install may still find all it needs in apt's cache.
    let updated = update()?;
    let words = [&["install", "-y", "--no-install-recommends"], names].concat();
    let installed = succeeds(&mut apt_get(&words))?;
    drop(quiet);
    if !installed {
        let hint = if updated { "" } else { " (apt-get update failed too: is there a network?)" };
        bail!("apt-get could not install {}{hint}; --no-install goes on without", names.join(" "));
    }
    Ok(())
}

/// Brings apt's lists up to date; only root can.
pub(crate) fn update() -> Result<bool> {
    succeeds(&mut apt_get(&["update"]))
}

fn apt_get(words: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command.args(["-qq", "-o", "Dpkg::Use-Pty=0"]).args(words);
    command
}

/// While this lives, no package starts a service: Debian's maintainer scripts ask `policy-rc.d` first.
struct NoServices {
    ours: bool,
}

impl NoServices {
    const POLICY: &str = "/usr/sbin/policy-rc.d";

    fn begin() -> Result<NoServices> {
        use std::os::unix::fs::PermissionsExt;
        if Path::new(NoServices::POLICY).exists() {
            return Ok(NoServices { ours: false });
        }
        std::fs::write(NoServices::POLICY, "#!/bin/sh\nexit 101\n").context(NoServices::POLICY)?;
        std::fs::set_permissions(NoServices::POLICY, std::fs::Permissions::from_mode(0o755))?;
        Ok(NoServices { ours: true })
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.ours && std::fs::remove_file(NoServices::POLICY).is_err() {
            eprintln!("packages: cannot remove {}; please do", NoServices::POLICY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_was_removed_but_left_its_settings_is_missing() {
        let listed: String = PACKAGES.iter().map(|package| format!("installed {}\n", package.name)).collect();
        assert!(not_installed(&listed).is_empty());
        let removed = listed.replace("installed fio\n", "config-files fio\n");
        assert_eq!(not_installed(&removed).iter().map(|package| package.name).collect::<Vec<_>>(), ["fio"]);
    }
}
