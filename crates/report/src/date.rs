//! Dates in the form of C's `ctime`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `Mon Nov 30 19:34:08 2026` in `zone`. A time beyond the calendar (year 9999) is shown as its nearest end.
pub(crate) fn ctime(unix_ms: i64, zone: &TimeZone) -> String {
    let nearest = if unix_ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let time = Timestamp::from_millisecond(unix_ms).unwrap_or(nearest);
    time.to_zoned_datetime(zone.clone()).strftime("%a %b %e %H:%M:%S %Y").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_padded_with_a_blank() {
        assert_eq!(ctime(1_796_067_549_119, &TimeZone::UTC), "Mon Nov 30 19:39:09 2026");
        assert_eq!(ctime(0, &TimeZone::UTC), "Thu Jan  1 00:00:00 1970");
        let east = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(ctime(0, &east), "Thu Jan  1 02:00:00 1970");
    }

    /// `TZ=America/New_York` is looked up in the system's own database: five hours behind in winter, four in summer.
    #[test]
    #[allow(clippy::print_stdout, reason = "a skip must be seen")]
    fn zones_come_from_the_system_s_database() {
        if !std::path::Path::new("/usr/share/zoneinfo/America/New_York").exists() {
            println!("SKIP: /usr/share/zoneinfo (apt-get install tzdata)");
            return;
        }
        let zone = TimeZone::get("America/New_York").unwrap();
        assert_eq!(ctime(1_796_067_549_119, &zone), "Mon Nov 30 14:39:09 2026");
        assert_eq!(ctime(1_782_000_000_000, &zone), "Sat Jun 20 20:00:00 2026");
    }

    #[test]
    fn no_time_is_too_far() {
        assert!(ctime(i64::MAX, &TimeZone::UTC).ends_with(" 9999"));
        assert!(ctime(i64::MIN, &TimeZone::UTC).ends_with(" -9999"));
    }
}
