//! Which crate may use which: the arrows of the house. None runs up, so there is no circle.

use std::path::PathBuf;

use serde::Deserialize;

use super::Finding;

/// Lower crates first. A crate may use those named, and in its tests too nothing else of ours.
const ARROWS: &[(&str, &[&str])] = &[
    ("os", &[]),
    ("stats", &[]),
    ("spec", &[]),
    ("device", &["os"]),
    ("engine", &["os", "spec"]),
    ("result", &["stats"]),
    ("run", &["spec", "device", "engine", "stats", "result", "os"]),
    ("report", &["result", "stats"]),
    ("testkit", &["os"]),
    ("iostrata", &["os", "stats", "spec", "device", "engine", "result", "run", "report", "testkit"]),
    ("xtask", &[]),
];

/// The part of `cargo metadata` that we read.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    /// The workspace's packages.
    pub(crate) packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    name: String,
    /// Its Cargo.toml.
    pub(crate) manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// The folder of a dependency inside the workspace.
    path: Option<PathBuf>,
}

/// Dependencies that the table does not allow.
pub(crate) fn check(metadata: &Metadata) -> Vec<Finding> {
    metadata.packages.iter().flat_map(package_findings).collect()
}

fn package_findings(package: &Package) -> Vec<Finding> {
    let finding = |message: String| Finding { path: package.manifest_path.display().to_string(), line: 0, message };
    let name = short(&package.name);
    let Some((_, allowed)) = ARROWS.iter().find(|(crate_name, _)| *crate_name == name) else {
        return vec![finding(format!("`{name}` has no row in the table of arrows (xtask/src/tidy/arrows.rs)"))];
    };
    let ours = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
    // A crate may use itself: its integration tests then see what a feature adds.
    let used = ours.map(|dependency| short(&dependency.name)).filter(|&used| used != name);
    let forbidden = used.filter(|used| !allowed.contains(used));
    forbidden.map(|used| finding(format!("`{name}` may not use `{used}`"))).collect()
}

fn short(name: &str) -> &str {
    name.strip_prefix("iostrata-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, uses: &[&str]) -> Vec<String> {
        let dependency = |used: &&str| Dependency { name: format!("iostrata-{used}"), path: Some("x".into()) };
        let package = Package {
            name: name.to_owned(),
            manifest_path: "crates/x/Cargo.toml".into(),
            dependencies: uses.iter().map(dependency).collect(),
        };
        check(&Metadata { packages: vec![package] }).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn an_arrow_down_is_good_and_one_up_is_found() {
        assert!(findings("iostrata-device", &["os", "device"]).is_empty());
        assert_eq!(findings("iostrata-os", &["device"]), ["`os` may not use `device`"]);
        assert_eq!(findings("iostrata-engine", &["os", "stats"]), ["`engine` may not use `stats`"]);
        assert_eq!(findings("xtask", &["spec"]), ["`xtask` may not use `spec`"]);
    }

    #[test]
    fn other_peoples_crates_are_no_arrows() {
        let package = Package {
            name: "iostrata-os".to_owned(),
            manifest_path: "x".into(),
            dependencies: vec![Dependency { name: "libc".to_owned(), path: None }],
        };
        assert!(package_findings(&package).is_empty());
    }

    #[test]
    fn a_new_crate_needs_its_row() {
        assert_eq!(findings("iostrata-cloud", &[]).len(), 1);
    }

    #[test]
    fn the_table_itself_has_no_arrow_up() {
        for (row, (name, allowed)) in ARROWS.iter().enumerate() {
            let lower: Vec<&str> = ARROWS[..row].iter().map(|(lower, _)| *lower).collect();
            assert!(allowed.iter().all(|used| lower.contains(used)), "{name}");
        }
    }
}
