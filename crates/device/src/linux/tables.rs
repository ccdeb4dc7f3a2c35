//! The kernel's tables of mounts and swap spaces.

use std::path::PathBuf;

use iostrata_os::file::DeviceNumber;

/// One line of `/proc/self/mountinfo`.
pub(super) struct Mount {
    /// Number of its file system; major 0 if that is not on one block device.
    pub(super) number: DeviceNumber,
    pub(super) at: PathBuf,
    /// What was mounted, as it was named.
    pub(super) source: String,
}

/// The mounts this process sees. A line that does not parse is passed over: it cannot be one of a block device.
pub(super) fn mounts(table: &str) -> Vec<Mount> {
    table.lines().filter_map(mount).collect()
}

fn mount(line: &str) -> Option<Mount> {
    // Between the sixth field and the dash stand any number of optional ones.
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let number = number(left.next()?)?;
    let at = PathBuf::from(unescape(left.nth(1)?));
    let source = unescape(right.split(' ').nth(1)?);
    Some(Mount { number, at, source })
}

/// The block devices in `/proc/swaps`.
pub(super) fn swap_devices(table: &str) -> Vec<PathBuf> {
    let fields = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let rows = table.lines().skip(1).map(fields);
    rows.filter(|row| row.get(1).is_some_and(|kind| kind == "partition")).map(|row| unescape(&row[0]).into()).collect()
}

/// `8:1`.
pub(super) fn number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// Blanks, tabs, newlines and backslashes stand as `\040` and the like.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                out.push(code);
                rest = &tail[3..];
            }
            None => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_and_escapes_are_understood() {
        let table = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime shared:1 master:2 - ext3 /dev/root\\134a rw\nrubbish\n\
                     27 1 254:0 / / rw - ext4 /dev/vda rw\n";
        let found = mounts(table);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].number, DeviceNumber { major: 98, minor: 0 });
        assert_eq!((found[0].at.to_str(), found[0].source.as_str()), (Some("/mnt 2"), "/dev/root\\a"));
        assert_eq!(found[1].source, "/dev/vda");
    }

    #[test]
    fn swap_files_are_no_devices() {
        let table =
            "Filename\t\t\tType\t\tSize\tUsed\tPriority\n/dev/sda\\0402  partition\t1\t0\t-2\n/swap file 1 0 -3\n";
        assert_eq!(swap_devices(table), [PathBuf::from("/dev/sda 2")]);
    }
}
