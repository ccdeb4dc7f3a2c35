//! `file_service_type=`: which of a job's files the next I/O goes to.

/// Which file the next I/O goes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileService {
    /// Files take turns, so many I/Os each.
    RoundRobin(u32),
    /// Any of those that are not done, for so many I/Os.
    Random(u32),
    /// A file to its end, then the next.
    Sequential,
    /// By a Zipf law with this exponent; a file that is done begins again.
    Zipf(f64),
    /// By a Pareto law: this share of the files gets the rest of the I/Os (0.2: a fifth of the files gets 80 percent).
    Pareto(f64),
    /// By a normal law around the middle file, with this standard deviation in percent of the number of files.
    Normal(f64),
}

impl FileService {
    /// Where neither the person nor the law says: fio's defaults.
    const ZIPF_EXPONENT: f64 = 1.1;
    const PARETO_SHARE: f64 = 0.2;

    /// What a word with the parameter after its colon selects; the error says what is wrong with the parameter.
    pub(crate) fn new(word: &str, parameter: Option<&str>) -> Result<Self, String> {
        let ios = || match parameter.map(str::parse::<u32>) {
            None => Ok(1),
            Some(Ok(ios)) => Ok(ios.max(1)),
            Some(Err(_)) => Err("a number of I/Os is wanted after the colon".to_owned()),
        };
        let number = |default: f64| match parameter.map(|text| (text, text.parse::<f64>())) {
            None => Ok(default),
            Some((text, Ok(value))) if value.is_finite() && !text.starts_with(['+', '-']) => Ok(value),
            Some(_) => Err(format!("a number is wanted after `{word}:`")),
        };
        match word {
            "random" => Ok(FileService::Random(ios()?)),
            "sequential" => Ok(FileService::Sequential),
            "zipf" => match number(Self::ZIPF_EXPONENT)? {
                1.0 => Err("the exponent of zipf must not be 1.0, as in fio".to_owned()),
                exponent if exponent > 0.0 => Ok(FileService::Zipf(exponent)),
                _ => Err("the exponent of zipf must be above 0".to_owned()),
            },
            "pareto" => match number(Self::PARETO_SHARE)? {
                share if share > 0.0 && share < 1.0 => Ok(FileService::Pareto(share)),
                _ => Err("the share of pareto must be between 0 and 1".to_owned()),
            },
            "normal" | "gauss" => match number(0.0)? {
                percent if percent <= 100.0 => Ok(FileService::Normal(percent)),
                _ => Err("the deviation is percent of the files, at most 100".to_owned()),
            },
            _ => Ok(FileService::RoundRobin(ios()?)),
        }
    }

    /// The value as an option's text.
    pub(crate) fn text(&self) -> String {
        match self {
            FileService::RoundRobin(1) => "roundrobin".to_owned(),
            FileService::RoundRobin(ios) => format!("roundrobin:{ios}"),
            FileService::Random(1) => "random".to_owned(),
            FileService::Random(ios) => format!("random:{ios}"),
            FileService::Sequential => "sequential".to_owned(),
            FileService::Zipf(exponent) => format!("zipf:{exponent}"),
            FileService::Pareto(share) => format!("pareto:{share}"),
            FileService::Normal(percent) => format!("normal:{percent}"),
        }
    }

    /// Whether a law picks among all files, and those that are done begin again until the job has moved its bytes.
    pub fn is_law(&self) -> bool {
        matches!(self, FileService::Zipf(_) | FileService::Pareto(_) | FileService::Normal(_))
    }
}
