//! The tree of disks out of what `diskutil list -plist` prints on macOS.

use std::collections::BTreeMap;
use std::io;

use iostrata_os::file::DeviceNumber;
use plist::{Dictionary, Value};

use crate::tree::{Device, Partition, Tree, Use};

/// Reads the list. `number_of` gives the number of the block device of that name.
///
/// # Errors
/// It is no such list.
pub(crate) fn tree(list: &[u8], number_of: impl Fn(&str) -> Option<DeviceNumber>) -> io::Result<Tree> {
    let unknown = |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("diskutil list: {why}"));
    let list = Value::from_reader(io::Cursor::new(list)).map_err(|e| unknown(e.to_string()))?;
    let disks = list.as_dictionary().and_then(|d| d.get("AllDisksAndPartitions")).and_then(Value::as_array);
    let disks = disks.ok_or_else(|| unknown("no AllDisksAndPartitions".into()))?;
    let mut found = BTreeMap::new();
    // Containers that are built on partitions: (partition, container).
    let mut built_on = Vec::new();
    for disk in disks.iter().filter_map(Value::as_dictionary) {
        let Some(whole) = device(disk, None, &number_of) else { continue };
        let parts = ["Partitions", "APFSVolumes"].into_iter().flat_map(|key| dictionaries(disk, key));
        for (part, number) in parts.zip(1..) {
            let place = Partition { disk: whole.number, number, start_bytes: 0 };
            let snapshots = dictionaries(part, "MountedSnapshots").filter_map(|s| text(s, "SnapshotMountPoint"));
            if let Some(mut part) = device(part, Some(place), &number_of) {
                part.uses.extend(snapshots.map(|at| Use::Mounted { at: at.into() }));
                found.insert(part.name.clone(), part);
            }
        }
        let stores = dictionaries(disk, "APFSPhysicalStores").filter_map(|store| text(store, "DeviceIdentifier"));
        built_on.extend(stores.map(|store| (store, whole.name.clone())));
        found.insert(whole.name.clone(), whole);
    }
    for (store, container) in built_on {
        if let Some(store) = found.get_mut(&store) {
            store.uses.push(Use::Holder { name: container });
        }
    }
    Ok(Tree { devices: found.into_values().collect() })
}

fn device(
    told: &Dictionary,
    partition: Option<Partition>,
    number_of: impl Fn(&str) -> Option<DeviceNumber>,
) -> Option<Device> {
    let name = text(told, "DeviceIdentifier")?;
    let mounted = text(told, "MountPoint").map(|at| Use::Mounted { at: at.into() });
    Some(Device {
        number: number_of(&name)?,
        size_bytes: told.get("Size").and_then(Value::as_unsigned_integer).unwrap_or(0),
        partition,
        uses: mounted.into_iter().collect(),
        name,
        ..Device::default()
    })
}

fn text(told: &Dictionary, key: &str) -> Option<String> {
    told.get(key)?.as_string().map(str::to_string)
}

fn dictionaries<'a>(told: &'a Dictionary, key: &str) -> impl Iterator<Item = &'a Dictionary> {
    told.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_dictionary)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with an EFI and an APFS partition; the container built on the latter, with the system mounted as a
    /// snapshot; an idle disk with one volume.
    const LIST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict><key>AllDisksAndPartitions</key><array>
  <dict><key>DeviceIdentifier</key><string>disk0</string><key>Size</key><integer>1000</integer>
    <key>Partitions</key><array>
      <dict><key>DeviceIdentifier</key><string>disk0s1</string><key>Size</key><integer>100</integer></dict>
      <dict><key>DeviceIdentifier</key><string>disk0s2</string><key>Size</key><integer>900</integer></dict>
    </array></dict>
  <dict><key>DeviceIdentifier</key><string>disk1</string><key>Size</key><integer>900</integer>
    <key>APFSPhysicalStores</key><array>
      <dict><key>DeviceIdentifier</key><string>disk0s2</string></dict></array>
    <key>APFSVolumes</key><array>
      <dict><key>DeviceIdentifier</key><string>disk1s1</string><key>Size</key><integer>900</integer>
        <key>MountedSnapshots</key><array>
          <dict><key>SnapshotMountPoint</key><string>/</string></dict></array></dict>
    </array></dict>
  <dict><key>DeviceIdentifier</key><string>disk2</string><key>Size</key><integer>50</integer>
    <key>Partitions</key><array/></dict>
</array></dict></plist>"#;

    fn number(name: &str) -> Option<DeviceNumber> {
        Some(DeviceNumber { major: 1, minor: name.bytes().map(u32::from).sum() })
    }

    #[test]
    fn a_mounted_volume_protects_the_disk_its_container_lies_on() {
        let tree = tree(LIST.as_bytes(), number).unwrap();
        let uses = |name: &str| tree.in_use(number(name).unwrap()).join("; ");
        assert_eq!(uses("disk0"), "its partition disk0s2 is held by disk1");
        assert_eq!(uses("disk0s1"), "");
        assert_eq!(uses("disk1"), "its partition disk1s1 is mounted at /");
        assert_eq!(uses("disk2"), "");
        assert_eq!(tree.disks().count(), 3);
    }

    #[test]
    fn another_list_is_an_error() {
        assert!(tree(b"<plist><dict/></plist>", number).is_err());
        assert!(tree(b"no plist", number).is_err());
    }
}
