//! Holds the source to the module table of `docs/architecture.md`.

#![allow(clippy::unwrap_used, reason = "clippy's exception for tests does not reach their helper functions")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[path = "modules/paths.rs"]
mod paths;
#[path = "modules/table.rs"]
mod table;

use paths::{Mention, mentions};
use table::{Table, Uses};

/// `src/`, as pairs of a path below it and its text, in order.
fn sources(folder: &Path, below: &Path, into: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, below, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(below).unwrap().to_str().unwrap().to_owned();
            into.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The top module that a file belongs to: `plan` for `plan.rs` and `plan/resolve.rs`. `main.rs` is
/// part of `cli`; `lib.rs` belongs to none.
fn module_of(file: &str) -> Option<&str> {
    match file {
        "lib.rs" => None,
        "main.rs" => Some("cli"),
        _ => Some(file.split('/').next().unwrap_or(file).trim_end_matches(".rs")),
    }
}

/// Every way in which the files depart from the table, as lines to print.
fn violations(table: &Table, files: &[(String, String)]) -> Vec<String> {
    let mut modules = BTreeMap::new();
    for (file, _) in files {
        module_of(file).map(|module| modules.entry(module).or_insert(file));
    }
    let mut found = Vec::new();
    for (module, file) in &modules {
        if !table.contains_key(*module) {
            found.push(format!("src/{file}: module `{module}` has no row"));
        }
    }
    for module in table.keys().filter(|module| !modules.contains_key(module.as_str())) {
        found.push(format!("row `{module}` has no module"));
    }
    for (file, text) in files {
        let uses = module_of(file).and_then(|module| table.get(module));
        for Mention { line, name } in mentions(file, text) {
            let place = format!("src/{file}:{line}");
            if !modules.contains_key(name.as_str()) {
                found.push(format!("{place}: `crate::{name}` is no module: name the module that holds it"));
            } else if let (Some(module), Some(Uses::Only(allowed))) = (module_of(file), uses)
                && module != name
                && !allowed.contains(&name)
            {
                found.push(format!("{place}: `{module}` uses `{name}`, which its row does not list"));
            }
        }
    }
    found
}

#[test]
fn the_source_keeps_to_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = table::parse(&fs::read_to_string(root.join("docs/architecture.md")).unwrap()).unwrap();
    let mut files = Vec::new();
    sources(&root.join("src"), &root.join("src"), &mut files);
    let total: usize = files.iter().map(|(file, text)| mentions(file, text).len()).sum();
    assert!(total > 5, "only {total} paths found: the search is broken");
    let found = violations(&table, &files);
    assert!(found.is_empty(), "against the table of docs/architecture.md:\n{}", found.join("\n"));
}

fn check(files: &[(&str, &str)]) -> Vec<String> {
    let table = "| module | holds | may use |\n|---|---|---|\n| `low` | a | – |\n\
                 | `mid` | b | `low` |\n| `cli` | c | everything |\n";
    let mut all = BTreeMap::from([("low.rs", ""), ("mid.rs", ""), ("cli.rs", "")]);
    all.extend(files.iter().copied());
    let files: Vec<_> = all.into_iter().map(|(file, text)| (file.to_owned(), text.to_owned())).collect();
    violations(&table::parse(table).unwrap(), &files)
}

#[test]
fn what_the_table_lists_passes() {
    let found = check(&[
        ("mid.rs", "use crate::low::A; use crate::mid::part::B;"),
        ("mid/part.rs", "use super::super::low; use super::C;"),
        ("cli/run.rs", "use crate::{low, mid::{self, C}};"),
        ("main.rs", "fn main() { drivestone::cli::main() }"),
    ]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_use_that_is_not_listed_fails_with_its_place() {
    assert_eq!(
        check(&[("low/deep/er.rs", "\n\nfn f() { crate::mid::g() }")]),
        ["src/low/deep/er.rs:3: `low` uses `mid`, which its row does not list"]
    );
}

#[test]
fn a_test_module_is_no_exception() {
    let text = "#[cfg(test)]\nmod tests {\n    use super::super::mid;\n}";
    assert_eq!(check(&[("low.rs", text)]), ["src/low.rs:3: `low` uses `mid`, which its row does not list"]);
}

#[test]
fn modules_and_rows_must_match() {
    assert_eq!(check(&[("util.rs", "")]), ["src/util.rs: module `util` has no row"]);
    let table = table::parse("| module | holds | may use |\n|---|---|---|\n| `gone` | a | – |\n").unwrap();
    assert_eq!(
        violations(&table, &[("lib.rs".into(), "pub mod gone;".into())]),
        ["row `gone` has no module"]
    );
}

#[test]
fn a_name_exported_at_the_root_hides_its_module() {
    let found = check(&[("lib.rs", "pub use mid::Thing;"), ("low.rs", "fn f(_: crate::Thing) {}")]);
    assert_eq!(found, ["src/low.rs:1: `crate::Thing` is no module: name the module that holds it"]);
}
