//! Pieces of a page: escaped text, tables, headings.

use std::fmt::Write;

/// Text that stands between tags or within the quotes of an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            // No page may hold these; readers show a mark in their place.
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Text as a string in JSON that stands in a script element: nothing in it ends the element.
pub(super) fn script_text(text: &str) -> String {
    let json = crate::json::Value::from(text).to_string();
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A link to what a number is.
pub(super) fn term(word: &str, number: &str) -> String {
    format!("<a class=\"term\" href=\"#number-{number}\">{}</a>", escape(word))
}

/// A table: a caption, heads (HTML), and rows (HTML) whose first cell is their head. Nothing without rows.
pub(super) fn table(caption: &str, heads: &[String], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    // Wide tables scroll; a keyboard must reach what scrolls.
    let name = escape(caption);
    let mut table = format!(
        "<div class=\"wide\" role=\"region\" aria-label=\"{name}\" tabindex=\"0\"><table><caption>{name}</caption>\
         <thead><tr>"
    );
    heads.iter().for_each(|head| _ = write!(table, "<th scope=\"col\">{head}</th>"));
    table.push_str("</tr></thead><tbody>");
    for row in rows {
        table.push_str("<tr>");
        for (number, cell) in row.iter().enumerate() {
            let _ = match number {
                0 => write!(table, "<th scope=\"row\">{cell}</th>"),
                _ => write!(table, "<td>{cell}</td>"),
            };
        }
        table.push_str("</tr>");
    }
    table.push_str("</tbody></table></div>");
    table
}

/// A list of names and what they are; empty ones are left out.
pub(super) fn facts(entries: &[(&str, String)]) -> String {
    let mut list = String::from("<dl>");
    for (name, value) in entries.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(list, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    list + "</dl>"
}

/// A chart with its legend, and the data for the script that draws it again.
pub(super) fn figure(caption: &str, svg: &str, legend: &str, data: Option<&str>) -> String {
    let data = data.map_or(String::new(), |data| format!("<script type=\"application/json\">{data}</script>"));
    format!("<figure><figcaption>{caption}</figcaption><div class=\"chart\">{svg}</div>{legend}{data}</figure>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_tag() {
        assert_eq!(escape("<b a='1'>\"&\u{1b}\n"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;\u{fffd}\n");
        assert_eq!(script_text("</script>\""), "\"\\u003c/script>\\\"\"");
    }

    #[test]
    fn a_table_without_rows_is_not_there() {
        assert_eq!(table("t", &["a".into()], &[]), "");
        assert!(
            table("t", &["a".into()], &[vec!["x".into(), "1".into()]]).contains("<th scope=\"row\">x</th><td>1</td>")
        );
    }
}
