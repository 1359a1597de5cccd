//! The server's options: everything that changes I/O is pinned, so that a result does not depend on
//! what a distribution ships.

use std::collections::BTreeMap;

/// Figures that options depend on.
#[derive(Debug, Clone, Copy)]
pub struct ServerFigures {
    /// InnoDB buffer pool.
    pub buffer_pool_bytes: u64,
    /// InnoDB redo log.
    pub log_bytes: u64,
    /// InnoDB page.
    pub page_bytes: u32,
    /// Connections that work at once.
    pub connections: u32,
    /// Tables.
    pub tables: u32,
    /// Prepared statements held at once, all connections together.
    pub prepared_statements: u64,
}

/// Options that are the same in every plan. `loose_` marks those that some versions lack.
const PINNED: [(&str, &str); 34] = [
    // How pages and log reach the device.
    ("innodb_flush_method", "O_DIRECT"),
    ("innodb_doublewrite", "ON"),
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_file_per_table", "ON"),
    ("innodb_use_native_aio", "ON"),
    ("innodb_checksum_algorithm", "full_crc32"),
    ("loose_innodb_log_file_buffering", "OFF"),
    // How much is written in the background.
    ("innodb_io_capacity", "2000"),
    ("innodb_io_capacity_max", "4000"),
    ("innodb_flush_neighbors", "0"),
    ("innodb_adaptive_flushing", "ON"),
    ("innodb_max_dirty_pages_pct", "90"),
    ("innodb_max_dirty_pages_pct_lwm", "0"),
    ("innodb_purge_threads", "4"),
    ("innodb_read_io_threads", "4"),
    ("innodb_write_io_threads", "4"),
    // What is read ahead, cached and kept across restarts.
    ("innodb_read_ahead_threshold", "56"),
    ("innodb_random_read_ahead", "OFF"),
    ("innodb_adaptive_hash_index", "OFF"),
    ("loose_innodb_change_buffering", "none"),
    ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
    ("innodb_buffer_pool_load_at_startup", "OFF"),
    ("innodb_old_blocks_pct", "37"),
    ("innodb_old_blocks_time", "1000"),
    ("innodb_log_buffer_size", "16777216"),
    ("innodb_stats_auto_recalc", "ON"),
    // What else the server would do.
    ("skip_log_bin", ""),
    ("query_cache_type", "OFF"),
    ("query_cache_size", "0"),
    ("performance_schema", "OFF"),
    ("slow_query_log", "OFF"),
    ("general_log", "OFF"),
    ("skip_name_resolve", "ON"),
    ("transaction_isolation", "REPEATABLE-READ"),
];

/// Connections beside the load threads: samplers, counters, and one for a curious person.
const SPARE_CONNECTIONS: u32 = 16;
/// Most that the server accepts for `max_prepared_stmt_count`.
const MOST_PREPARED_STATEMENTS: u64 = 4_294_967_295;

/// Options that drivestone fills in itself, and where to say what is wanted.
const OWN: [(&str, &str); 21] = [
    ("datadir", "its place follows device.path"),
    ("tmpdir", "its place follows device.path"),
    ("innodb_data_home_dir", "its place follows device.path"),
    ("innodb_log_group_home_dir", "its place follows device.path"),
    ("innodb_undo_directory", "its place follows device.path"),
    ("innodb_data_file_path", "its place follows device.path"),
    ("innodb_tmpdir", "its place follows device.path"),
    ("innodb_temp_data_file_path", "its place follows device.path"),
    ("aria_log_dir_path", "its place follows device.path"),
    ("socket", "its place follows device.path"),
    ("port", "choose server.transport"),
    ("bind_address", "choose server.transport"),
    ("skip_networking", "choose server.transport"),
    ("pid_file", "its place follows device.path"),
    ("user", "name server.account in the hardware profile"),
    ("init_file", "it makes drivestone's account"),
    ("log_error", "the log is kept in the result"),
    ("innodb_buffer_pool_size", "use server.buffer_pool or the hardware profile's memory.buffer_pool"),
    ("innodb_page_size", "use server.page_size"),
    ("innodb_log_file_size", "use server.log_file_size"),
    ("skip_grant_tables", "drivestone's account needs them"),
];

/// How variables end that name a file which the server writes.
const FILE_ENDINGS: [&str; 5] = ["_file", "_index", "_basename", "log_bin", "relay_log"];

/// Why a variable may not be set in a profile, if it may not.
///
/// The server takes any unambiguous beginning of an option's name, and several prefixes before it; so
/// does this.
#[must_use]
pub fn set_by_drivestone(name: &str, value: &str) -> Option<&'static str> {
    let bare = without_prefixes(name);
    let names_a_file = FILE_ENDINGS.iter().any(|ending| bare.ends_with(ending));
    if names_a_file && value.contains('/') {
        return Some("give the file's name without a path: it stays with the data");
    }
    OWN.iter().find(|(own, _)| without_prefixes(own).starts_with(bare)).map(|(_, instead)| *instead)
}

fn without_prefixes(name: &str) -> &str {
    const PREFIXES: [&str; 5] = ["loose_", "skip_", "enable_", "disable_", "maximum_"];
    let mut bare = name;
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| bare.strip_prefix(prefix)) {
        bare = rest;
    }
    bare
}

/// Pages that the page cleaner keeps free. The server's default of 1,536 would be most of a small pool.
#[must_use]
pub fn free_pages_kept(pool_pages: u64) -> u64 {
    const SHARE: u64 = 32;
    (pool_pages / SHARE).clamp(100, 1536)
}

/// The complete options: pinned, computed, and then what the profile sets.
#[must_use]
pub fn options(figures: &ServerFigures, variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let pool_pages = figures.buffer_pool_bytes / u64::from(figures.page_bytes);
    let connections = figures.connections + SPARE_CONNECTIONS;
    // Every connection may have every table open.
    let open_tables = u64::from(figures.tables) * u64::from(figures.connections) + 200;
    let prepared = (figures.prepared_statements + 1_000).clamp(16_382, MOST_PREPARED_STATEMENTS);
    let computed = [
        ("innodb_buffer_pool_size", figures.buffer_pool_bytes.to_string()),
        ("innodb_lru_scan_depth", free_pages_kept(pool_pages).to_string()),
        ("innodb_log_file_size", figures.log_bytes.to_string()),
        ("innodb_page_size", figures.page_bytes.to_string()),
        ("max_connections", connections.to_string()),
        ("thread_cache_size", connections.to_string()),
        ("max_prepared_stmt_count", prepared.to_string()),
        ("table_open_cache", open_tables.clamp(400, 100_000).to_string()),
        ("character_set_server", "latin1".to_owned()),
    ];
    let mut options: BTreeMap<String, String> =
        PINNED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    options.extend(computed.map(|(name, value)| (name.to_owned(), value)));
    for (name, value) in variables {
        // The profile's word replaces ours, whether or not ours was marked loose.
        options.remove(&format!("loose_{name}"));
        if matches!(name.as_str(), "log_bin" | "sync_binlog") {
            options.remove("skip_log_bin");
        }
        options.insert(name.clone(), value.clone());
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        let figures = ServerFigures {
            buffer_pool_bytes: 24 << 30,
            log_bytes: 1 << 30,
            page_bytes: 16384,
            connections: 32,
            tables: 100,
            prepared_statements: 32 * 902,
        };
        options(&figures, &variables.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect())
    }

    #[test]
    fn a_published_plan_gets_these_options() {
        let text: String = of(&[]).iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_profile_has_the_last_word() {
        let options = of(&[("innodb_change_buffering", "all"), ("log_bin", "binlog")]);
        assert_eq!(options["innodb_change_buffering"], "all");
        assert!(!options.contains_key("loose_innodb_change_buffering"));
        assert!(!options.contains_key("skip_log_bin"));
    }

    #[test]
    fn no_spelling_gets_past_the_guard() {
        for name in [
            "datadir",
            "datadi",
            "loose_datadir",
            "loose_loose_datadir",
            "bind_addr",
            "skip_grant",
            "enable_skip_grant_tables",
            "disable_skip_networking",
            "innodb_log_group_home",
            "innodb_data_home",
        ] {
            assert!(set_by_drivestone(name, "x").is_some(), "{name}");
        }
        for name in ["log_bin", "general_log_file", "slow_query_log_file", "log_bin_index"] {
            assert!(set_by_drivestone(name, "/elsewhere/file").is_some(), "{name}");
            assert_eq!(set_by_drivestone(name, "file"), None, "{name}");
        }
        for (name, value) in [
            ("log_bin", "binlog"),
            ("innodb_io_capacity", "1"),
            ("skip_log_bin", ""),
            ("innodb_page_cleaners", "2"),
            ("port_open_timeout", "1"),
            ("userstat", "1"),
        ] {
            assert_eq!(set_by_drivestone(name, value), None, "{name}");
        }
    }

    #[test]
    fn prepared_statements_fit() {
        assert_eq!(of(&[])["max_prepared_stmt_count"], (32 * 902 + 1000).to_string());
    }
}
