//! The pages made from the tables.

use iostrata_spec::table::{Category, all_options};
use iostrata_spec::{TOOL_OPTIONS, compatibility_markdown, option_reference_markdown};

#[test]
fn the_reference_names_every_option_with_its_other_names_and_words() {
    let page = option_reference_markdown();
    for row in all_options() {
        assert!(page.contains(&format!("### {}", row.name)), "{}", row.name);
        assert!(row.aliases.iter().all(|alias| page.contains(alias)), "aliases of {}", row.name);
        assert!(row.kind.choices().iter().all(|c| page.contains(&format!("- `{}`: ", c.word))), "{}", row.name);
    }
    assert!(Category::ALL.iter().all(|c| page.contains(&format!("## {}\n", c.title()))));
}

#[test]
fn the_compatibility_page_says_how_everything_stands() {
    let page = compatibility_markdown();
    for row in TOOL_OPTIONS {
        assert!(page.contains(&format!("| `--{}` | ", row.name)), "{}", row.name);
    }
    let rows = page.lines().filter(|line| line.starts_with("| `") && !line.starts_with("| `--")).count();
    assert_eq!(rows, all_options().count());
    assert!(page.contains("| `bs` | As in fio. |"));
    assert!(page.contains("| `write_zone_remainder` | As in fio. |"));
    assert!(page.contains("| `thread` | Differs from fio: a job is always a thread, never a process. |"));
}
