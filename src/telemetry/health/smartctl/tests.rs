//! Drives of every protocol, as smartctl prints them.

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../../tests/fixtures/smartctl/", $name, ".json"))
    };
}

#[test]
fn an_nvme_drive() {
    assert_eq!(
        parse(fixture!("nvme")).unwrap(),
        DriveHealth {
            source: "smartctl 7.3".into(),
            host_written_bytes: Some(1_024_000_000_000),
            host_read_bytes: Some(512_000_000_000),
            host_unit_bytes: Some(512_000),
            used_pct: Some(3),
            spare_pct: Some(99),
            temperature_c: Some(37),
            media_errors: Some(1),
            throttled_s: Some(180),
            power_on_hours: Some(8_760),
            failing: Some(false),
            ..DriveHealth::default()
        }
    );
}

#[test]
fn an_ata_drive_by_its_vendors_attributes() {
    assert_eq!(
        parse(fixture!("sata-attributes")).unwrap(),
        DriveHealth {
            source: "smartctl 7.2".into(),
            host_written_bytes: Some(3_000 << 25),
            host_read_bytes: Some(1_000 << 25),
            host_unit_bytes: Some(1 << 25),
            nand_written_bytes: Some(150 << 30),
            nand_unit_bytes: Some(1 << 30),
            used_pct: Some(7),
            temperature_c: Some(28),
            media_errors: Some(2),
            power_on_hours: Some(20_000),
            failing: Some(false),
            ..DriveHealth::default()
        }
    );
}

#[test]
fn an_ata_drives_standard_statistics_come_before_its_vendors() {
    assert_eq!(
        parse(fixture!("sata-statistics")).unwrap(),
        DriveHealth {
            source: "smartctl 7.4".into(),
            host_written_bytes: Some(5_000_000 * 4_096),
            host_read_bytes: Some(7_000_000 * 4_096),
            host_unit_bytes: Some(4_096),
            nand_written_bytes: Some(40 << 30),
            nand_unit_bytes: Some(1 << 30),
            used_pct: Some(12),
            spare_pct: Some(98),
            temperature_c: Some(31),
            media_errors: Some(4),
            power_on_hours: Some(100),
            failing: Some(true),
            ..DriveHealth::default()
        }
    );
}

#[test]
fn a_statistic_that_is_not_valid_is_none() {
    let text = String::from_utf8(fixture!("sata-statistics").to_vec()).unwrap();
    let health = parse(text.replace("\"valid\": true", "\"valid\": false").as_bytes()).unwrap();
    assert_eq!((health.host_written_bytes, health.host_read_bytes), (Some(30 << 30), None));
    assert_eq!((health.used_pct, health.media_errors), (Some(50), Some(77)));
}

#[test]
fn a_sas_drive() {
    assert_eq!(
        parse(fixture!("sas")).unwrap(),
        DriveHealth {
            source: "smartctl 7.3".into(),
            host_written_bytes: Some(111_254_503_000_000),
            host_read_bytes: Some(330_638_625_000_000),
            host_unit_bytes: Some(1_000_000),
            used_pct: Some(11),
            temperature_c: Some(33),
            media_errors: Some(3),
            power_on_hours: Some(26_195),
            failing: Some(false),
            ..DriveHealth::default()
        }
    );
}

/// The same name under another number counts the other way.
#[test]
fn life_left_is_known_by_number_and_name() {
    let text = String::from_utf8(fixture!("sata-attributes").to_vec()).unwrap();
    let renumbered = text.replace("\"id\": 233", "\"id\": 230");
    assert_eq!(parse(renumbered.as_bytes()).unwrap().used_pct, Some(40));
    let above = renumbered.replace("\"value\": 60, \"worst\": 60", "\"value\": 200, \"worst\": 200");
    assert_eq!(parse(above.as_bytes()).unwrap().used_pct, None);
}

#[test]
fn sectors_have_their_size_and_512_bytes_where_none_is_told() {
    let told = |size: &str| {
        let text = format!(
            r#"{{"device":{{"protocol":"ATA"}},{size}"ata_smart_attributes":{{"table":[
            {{"id":241,"name":"Total_LBAs_Written","raw":{{"value":10}}}}]}}}}"#
        );
        parse(text.as_bytes()).unwrap().host_written_bytes
    };
    assert_eq!(told("\"logical_block_size\":4096,"), Some(40_960));
    assert_eq!((told(""), told("\"logical_block_size\":0,")), (Some(5_120), Some(5_120)));
}

#[test]
fn what_is_no_drive_is_refused_with_smartctls_words() {
    let said = |text: &[u8]| parse(text).unwrap_err();
    assert_eq!(
        said(fixture!("refused")),
        "smartctl: Smartctl open device: /dev/nvme0n1 failed: Permission denied"
    );
    assert_eq!(said(b""), "smartctl printed no JSON");
    assert_eq!(said(br#"{"smartctl":{"exit_status":2}}"#), "smartctl could not open it, or it sleeps");
    for nothing in ["[]", "7", "{}", r#"{"device":{"protocol":"ATA"}}"#, r#"{"device":[]}"#] {
        assert_eq!(said(nothing.as_bytes()), "smartctl told nothing of it", "{nothing}");
    }
}

#[test]
fn nonsense_in_place_of_figures_is_unknown() {
    let text = String::from_utf8(fixture!("nvme").to_vec()).unwrap();
    for nonsense in ["-1", "1e300", "\"many\"", "null", "[]", "{}", "18446744073709551615"] {
        let changed =
            text.replace("\"data_units_written\": 2000000", &format!("\"data_units_written\": {nonsense}"));
        let health = parse(changed.as_bytes()).unwrap();
        assert_eq!(health.host_written_bytes, None, "{nonsense}");
        assert_eq!(health.host_read_bytes, Some(512_000_000_000));
    }
}

proptest! {
    /// Whatever figure stands in a report, the others are read as before or the whole is refused.
    #[test]
    fn any_figure_is_read_or_unknown(which in 0..4usize, place in any::<prop::sample::Index>(), with in "-?[0-9]{1,25}(\\.[0-9]{1,3})?(e[0-9]{1,3})?|\"[a-z0-9]{0,9}\"|null|true|\\[\\]|\\{\\}") {
        let text: &[u8] = [&fixture!("nvme")[..], fixture!("sata-attributes"), fixture!("sata-statistics"), fixture!("sas")][which];
        let text = std::str::from_utf8(text).unwrap();
        let figures: Vec<usize> = text.match_indices("\": ").map(|(at, _)| at + 3).filter(|at| text.as_bytes()[*at].is_ascii_digit()).collect();
        let begin = figures[place.index(figures.len())];
        let end = begin + text[begin..].find(|c: char| !c.is_ascii_digit()).unwrap();
        let changed = format!("{}{with}{}", &text[..begin], &text[end..]);
        if let Ok(health) = parse(changed.as_bytes()) {
            prop_assert!(health.source.starts_with("smartctl"));
            prop_assert!(health.used_pct.is_none_or(|pct| pct < 1_000));
            prop_assert!(health.temperature_c.is_none_or(|degrees| (-60..200).contains(&degrees)));
        }
    }
}
