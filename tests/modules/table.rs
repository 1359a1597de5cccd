//! Reads the module table out of a page of Markdown.

use std::collections::BTreeMap;

/// What each module may use.
pub type Table = BTreeMap<String, Uses>;

/// The last cell of a row.
#[derive(Debug, PartialEq, Eq)]
pub enum Uses {
    Everything,
    Only(Vec<String>),
}

const HEADER: [&str; 3] = ["module", "holds", "may use"];

/// The table `| module | holds | may use |` of a page. A row may list only modules of rows above
/// it: that is what makes data flow one way.
pub fn parse(page: &str) -> Result<Table, String> {
    let mut lines = page.lines().skip_while(|line| cells(line) != HEADER);
    lines.next().ok_or("there is no table | module | holds | may use |")?;
    let mut table = Table::new();
    for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let [module, _, uses] = cells(line)[..] else {
            return Err(format!("a row has three cells: {line}"));
        };
        let module = name(module)?;
        let uses = match uses {
            "everything" => Uses::Everything,
            "–" => Uses::Only(Vec::new()),
            list => Uses::Only(list.split(',').map(name).collect::<Result<_, _>>()?),
        };
        if let Uses::Only(list) = &uses
            && let Some(later) = list.iter().find(|used| !table.contains_key(*used))
        {
            return Err(format!("row `{module}` lists `{later}`, which has no row above it"));
        }
        if table.insert(module.clone(), uses).is_some() {
            return Err(format!("module `{module}` has two rows"));
        }
    }
    if table.is_empty() { Err("the table has no rows".to_owned()) } else { Ok(table) }
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|'));
    inner.map(|inner| inner.split('|').map(str::trim).collect()).unwrap_or_default()
}

fn name(cell: &str) -> Result<String, String> {
    let inner = cell.trim().strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner.map(str::to_owned).ok_or_else(|| format!("a module is written as `name`, not as {cell}"))
}

fn page(rows: &str) -> String {
    format!(
        "# Title\n\n| word | meaning |\n|---|---|\n| a | b |\n\n| module | holds | may use |\n|---|---|---|\n{rows}\nmore\n"
    )
}

#[test]
fn rows_are_read() {
    let table =
        parse(&page("| `a` | x | – |\n| `b` | y | `a` |\n| `c` | z | `a`, `b` |\n| `d` | | everything |\n"));
    let only = |names: &[&str]| Uses::Only(names.iter().map(|name| (*name).to_owned()).collect());
    let expected = [("a", only(&[])), ("b", only(&["a"])), ("c", only(&["a", "b"])), ("d", Uses::Everything)];
    assert_eq!(table, Ok(expected.into_iter().map(|(module, uses)| (module.to_owned(), uses)).collect()));
}

#[test]
fn mistakes_are_named() {
    let error = |rows: &str| parse(&page(rows)).unwrap_err();
    assert_eq!(error(""), "the table has no rows");
    assert_eq!(error("| `a` | – |\n"), "a row has three cells: | `a` | – |");
    assert_eq!(error("| a | x | – |\n"), "a module is written as `name`, not as a");
    assert_eq!(error("| `a` | x | nothing |\n"), "a module is written as `name`, not as nothing");
    assert_eq!(error("| `a` | x | – |\n| `a` | x | – |\n"), "module `a` has two rows");
    assert_eq!(parse("no table"), Err("there is no table | module | holds | may use |".to_owned()));
}

#[test]
fn a_row_lists_only_rows_above_it() {
    let error = parse(&page("| `a` | x | `b` |\n| `b` | x | – |\n")).unwrap_err();
    assert_eq!(error, "row `a` lists `b`, which has no row above it");
    assert!(parse(&page("| `a` | x | `a` |\n")).is_err());
}
