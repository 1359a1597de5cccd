//! `--set key=value`.

use super::super::field::SETTABLE;
use super::*;

#[test]
fn every_settable_key_takes_its_example() {
    for (key, example) in SETTABLE {
        let argument = format!("{key}={example}");
        match profile(PROFILE, &[&argument]) {
            Ok(document) => assert_eq!(document.spec.overrides, [(key.to_owned(), example.to_owned())]),
            // The value was read; it belongs to another workload than this profile's, or its neighbours are missing.
            Err(error) => {
                let text = error.to_string();
                let beside = format!(": {}.", key.rsplit_once('.').map_or("", |(section, _)| section));
                let is_missing = text.contains(&beside) && text.contains("is missing");
                assert!(text.contains("changes nothing in") || is_missing, "{text}");
            }
        }
    }
}

#[test]
fn every_key_of_a_profile_is_settable_or_known_not_to_be() {
    // The refusal of an unknown key lists the keys that serde knows.
    let known = |section: &str| {
        let text = if section.is_empty() {
            format!("zzzzzzzz: 1\n{PROFILE}")
        } else if PROFILE.contains(&format!("\n{section}:\n")) {
            PROFILE.replace(&format!("\n{section}:\n"), &format!("\n{section}:\n  zzzzzzzz: 1\n"))
        } else {
            format!("{PROFILE}{section}:\n  zzzzzzzz: 1\n")
        };
        let message = profile(&text, &[]).unwrap_err().to_string();
        let list = message.lines().next().unwrap().split_once("valid keys: ").unwrap().1.to_owned();
        list.split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    let sections = ["workload", "dataset", "load", "server"];
    let mut keys: Vec<String> = sections
        .iter()
        .flat_map(|section| known(section).into_iter().map(move |key| format!("{section}.{key}")))
        .filter(|key| key != "server.variables" && key != "load.ramp")
        .chain(["from", "to", "steps", "p99_ms"].map(|key| format!("load.ramp.{key}")))
        .collect();
    keys.extend(
        known("").into_iter().filter(|key| {
            !sections.contains(&key.as_str()) && !["name", "description"].contains(&key.as_str())
        }),
    );
    let mut settable: Vec<&str> = SETTABLE.iter().map(|(key, _)| *key).collect();
    keys.sort();
    settable.sort_unstable();
    assert_eq!(keys, settable);
}

#[test]
fn an_override_replaces_the_file_and_is_recorded() {
    let arguments =
        ["threads=64", "server.variables.innodb_io_capacity=2000", "load.threads=128", "allow_cached=true"];
    let spec = profile(PROFILE, &arguments).unwrap().spec;
    assert_eq!(spec.load.threads[0].get(), 128);
    assert_eq!(spec.server.variables["innodb_io_capacity"], "2000");
    assert!(spec.allow_cached);
    let recorded: Vec<String> = spec.overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        recorded,
        [
            "load.threads=64",
            "server.variables.innodb_io_capacity=2000",
            "load.threads=128",
            "allow_cached=true"
        ]
    );
}

#[test]
fn a_variable_may_hold_dots_and_equal_signs() {
    let spec = profile(
        PROFILE,
        &["server.variables.keycache1.key_buffer_size=16M", "server.variables.sql_mode=A=B"],
    )
    .unwrap()
    .spec;
    assert_eq!(spec.server.variables["keycache1.key_buffer_size"], "16M");
    assert_eq!(spec.server.variables["sql_mode"], "A=B");
}

#[test]
fn an_override_completes_a_file() {
    let text = PROFILE.replace("  threads: 4\n", "");
    assert!(profile(&text, &[]).is_err());
    assert_eq!(profile(&text, &["threads=8"]).unwrap().spec.load.threads[0].get(), 8);
    // The rest of the section is still demanded.
    let text = PROFILE.split("load:\n  threads").next().unwrap().to_owned();
    let message = profile(&text, &["threads=8"]).unwrap_err().to_string();
    assert!(message.starts_with("profiles/x.yaml:1: load.warmup: is missing"), "{message}");
}

#[test]
fn refusals_name_the_argument() {
    let cases: &[&[&str]] = &[
        &["threads=many"],
        &["threads=many", "threads=8"],
        &["load.threads="],
        &["threads"],
        &["=5"],
        &["seed=5"],
        &["thread=5"],
        &["name=other"],
        &["load=5"],
        &["server.variables.=5"],
        &["server.variables.Innodb-IO=5"],
        &["server.variables.a=x\ny"],
        &["innodb_io_capacity=5"],
        &["keys=zipf"],
        &["duration=0s"],
        &["duration=90"],
        &["buffer_pool=24G"],
        &["allow_cached=yes"],
    ];
    let messages: Vec<String> =
        cases.iter().map(|arguments| profile(PROFILE, arguments).unwrap_err().to_string()).collect();
    insta::assert_snapshot!("override_refusals", messages.join("\n\n"));
}

#[test]
fn text_in_the_way_of_a_section_is_the_files_mistake() {
    let text = PROFILE.replace("load:\n  threads: 4\n  warmup: 0s\n  duration: 10s\n", "load: 5\n");
    let message = profile(&text, &["threads=8"]).unwrap_err().to_string();
    assert!(message.starts_with("profiles/x.yaml:9: load: `5` stands here"), "{message}");
}
