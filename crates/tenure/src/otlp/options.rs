//! What is sent where, and what the standard's variables of the environment say of it.

use std::fmt;
use std::time::Duration;

use super::OtlpError;
use crate::sink::Secret;
use crate::sink::http::Target;

/// Nothing takes longer, and nothing happens less often.
const TIMEOUT_MAX: Duration = Duration::from_secs(10 * 60);

/// Where one kind of telemetry goes.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpSignal {
    /// The whole URL: `http://localhost:4318/v1/traces`.
    pub url: String,
    /// What every request carries, such as a token.
    pub headers: Vec<(String, Secret)>,
    /// How long one request may take. 10 s.
    pub timeout: Duration,
}

impl fmt::Debug for OtlpSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Scheme, host and port: some collectors take their key in the path or the query.
        let origin = Target::parse(&self.url).map_or_else(|_| "(unusable)".to_owned(), |target| target.name);
        let Self { url: _, headers, timeout } = self;
        f.debug_struct("OtlpSignal")
            .field("origin", &origin)
            .field("headers", headers)
            .field("timeout", timeout)
            .finish()
    }
}

/// How telemetry is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpOptions {
    /// Where spans go; nowhere when there is none.
    pub traces: Option<OtlpSignal>,
    /// Where metrics go; nowhere when there is none.
    pub metrics: Option<OtlpSignal>,
    /// What this service is called; what the environment says when there is none, or `tenure`.
    pub service_name: Option<String>,
    /// Certificates, in PEM, that are trusted besides the system's.
    pub root_certificates: Vec<Vec<u8>>,
    /// How often metrics are sent. 60 s.
    pub interval: Duration,
    /// How many spans wait to be sent at most; more are dropped, and counted. 2048.
    pub queue: usize,
    /// How many spans are sent at once. 512.
    pub batch: usize,
    /// For how long spans are gathered before they are sent. 5 s.
    pub delay: Duration,
}

impl OtlpOptions {
    /// Sends both to the collector at this URL, as `OTEL_EXPORTER_OTLP_ENDPOINT` has it: `v1/traces` and `v1/metrics` are
    /// added to its path.
    pub fn to(url: &str) -> Self {
        let signal = |path| {
            let url = below(url, path);
            Some(OtlpSignal { url, headers: Vec::new(), timeout: Duration::from_secs(10) })
        };
        Self {
            traces: signal("v1/traces"),
            metrics: signal("v1/metrics"),
            service_name: None,
            root_certificates: Vec::new(),
            interval: Duration::from_secs(60),
            queue: 2048,
            batch: 512,
            delay: Duration::from_secs(5),
        }
    }

    /// What the environment says; `None` when it names no collector, or says that nothing is to be sent. What it says may be meant
    /// for others: [`OtlpError::Unknown`] is one that a program may pass over, and go on without telemetry.
    pub fn from_env() -> Result<Option<Self>, OtlpError> {
        Self::from_env_to(None)
    }

    /// The same with the collector's URL given, whatever the environment says of that.
    pub fn from_env_to(url: Option<&str>) -> Result<Option<Self>, OtlpError> {
        // Empty is as good as not set, by the standard.
        Self::read(url, |name| std::env::var(name).ok().filter(|text| !text.trim().is_empty()))
    }

    pub(super) fn read(
        url: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, OtlpError> {
        if variable("OTEL_SDK_DISABLED").is_some_and(|text| text.trim().eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let all = url.map(str::to_owned).or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let mut options = Self::to(all.as_deref().unwrap_or_default());
        for (signal, word) in [(&mut options.traces, "TRACES"), (&mut options.metrics, "METRICS")] {
            let of = |what: &str| {
                let own = format!("OTEL_EXPORTER_OTLP_{word}_{what}");
                let common = format!("OTEL_EXPORTER_OTLP_{what}");
                variable(&own)
                    .map(|text| (own, text))
                    .or_else(|| variable(&common).map(|text| (common, text)))
            };
            let own = variable(&format!("OTEL_EXPORTER_OTLP_{word}_ENDPOINT")).filter(|_| url.is_none());
            let exporter = format!("OTEL_{word}_EXPORTER");
            let wanted = match variable(&exporter).as_deref().map(str::trim) {
                // What the variables of others say is not judged before a collector is named.
                _ if own.is_none() && all.is_none() => false,
                None | Some("otlp") => true,
                Some("none") => false,
                Some(_) => return Err(unknown(exporter, "only otlp and none are known here")),
            };
            let Some(sent) = signal.as_mut().filter(|_| wanted) else {
                *signal = None;
                continue;
            };
            if let Some(own) = own {
                sent.url = own;
            }
            if let Some((name, text)) = of("HEADERS") {
                sent.headers = headers(&name, &text)?;
            }
            if let Some((name, text)) = of("TIMEOUT") {
                sent.timeout = millis(name, &text)?;
            }
            if let Some((name, text)) = of("PROTOCOL")
                && text.trim() != "http/protobuf"
            {
                return Err(unknown(name, "only http/protobuf is spoken here"));
            }
            if let Some((name, text)) = of("COMPRESSION")
                && text.trim() != "none"
            {
                return Err(unknown(name, "requests are not compressed here; set it to none"));
            }
        }
        if options.traces.is_none() && options.metrics.is_none() {
            return Ok(None);
        }
        let certificate = "OTEL_EXPORTER_OTLP_CERTIFICATE";
        if let Some(path) = variable(certificate) {
            let pem = std::fs::read(path).map_err(|error| bad(certificate, &error.to_string()))?;
            options.root_certificates.push(pem);
        }
        let described = variable("OTEL_RESOURCE_ATTRIBUTES")
            .is_some_and(|text| text.split(',').any(|pair| pair.trim().starts_with("service.name=")));
        options.service_name =
            variable("OTEL_SERVICE_NAME").or_else(|| (!described).then(|| "tenure".to_owned()));
        for (name, span) in [
            ("OTEL_METRIC_EXPORT_INTERVAL", &mut options.interval),
            ("OTEL_BSP_SCHEDULE_DELAY", &mut options.delay),
        ] {
            if let Some(text) = variable(name) {
                *span = millis(name, &text)?;
            }
        }
        for (name, number) in [
            ("OTEL_BSP_MAX_QUEUE_SIZE", &mut options.queue),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", &mut options.batch),
        ] {
            if let Some(text) = variable(name) {
                *number = text.trim().parse().map_err(|_| bad(name, "is no number"))?;
            }
        }
        options.batch = options.batch.min(options.queue);
        Ok(Some(options))
    }

    /// Refuses what cannot work. Called at the start.
    pub fn validate(&self) -> Result<(), OtlpError> {
        let within = |option: &str, span: Duration| match span {
            Duration::ZERO => Err(bad(option, "is zero")),
            span if span > TIMEOUT_MAX => Err(bad(option, "is above ten minutes")),
            _ => Ok(()),
        };
        for signal in [&self.traces, &self.metrics].into_iter().flatten() {
            within("the collector's timeout", signal.timeout)?;
        }
        within("the interval of metrics", self.interval)?;
        within("the delay of spans", self.delay)?;
        match (self.queue, self.batch) {
            (1..=1_000_000, batch) if (1..=self.queue).contains(&batch) => Ok(()),
            (1..=1_000_000, _) => {
                Err(bad("the batch of spans", "is not between 1 and the length of the queue"))
            }
            _ => Err(bad("the queue of spans", "is not between 1 and 1,000,000")),
        }
    }
}

fn bad(option: impl Into<String>, message: &str) -> OtlpError {
    OtlpError::BadOption { option: option.into(), message: message.to_owned() }
}

fn unknown(option: String, message: &str) -> OtlpError {
    OtlpError::Unknown { option, message: message.to_owned() }
}

/// The URL with a path below its own.
fn below(url: &str, path: &str) -> String {
    // A query stays behind the path: some collectors take their key there.
    let (base, query) = url.split_once('?').map_or((url, ""), |(base, query)| (base, query));
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{}/{path}{mark}{query}", base.trim_end_matches('/'))
}

fn millis(name: impl Into<String>, text: &str) -> Result<Duration, OtlpError> {
    let number = text.trim().parse().map_err(|_| bad(name, "is no number of milliseconds"))?;
    Ok(Duration::from_millis(number))
}

/// `name=value,name=value`, the values percent-encoded. What cannot be read is named by its place, never by its text.
fn headers(option: &str, text: &str) -> Result<Vec<(String, Secret)>, OtlpError> {
    let pairs = text.split(',').enumerate().filter(|(_, pair)| !pair.trim().is_empty());
    let header = |(at, pair): (usize, &str)| {
        let wrong = || bad(option, &format!("part {} is not of the form name=value", at + 1));
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let value = decoded(value.trim()).ok_or_else(wrong)?;
        match name.trim() {
            "" => Err(wrong()),
            name => Ok((name.to_owned(), Secret::new(value))),
        }
    };
    pairs.map(header).collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit =
                    |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                bytes.push(digit(high)? << 4 | digit(low)?);
                after
            }
            (b'%', _) => return None,
            (byte, after) => {
                bytes.push(*byte);
                after
            }
        };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<OtlpOptions>, OtlpError> {
        OtlpOptions::read(url, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn nothing_is_sent_unless_a_collector_is_named() {
        assert_eq!(read(None, &[("OTEL_SERVICE_NAME", "shop")]).unwrap(), None);
        let named = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        assert!(read(None, &[named]).unwrap().is_some());
        for (name, text) in [
            ("OTEL_TRACES_EXPORTER", "jaeger"),
            ("OTEL_METRICS_EXPORTER", "prometheus"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ] {
            assert_eq!(read(None, &[(name, text)]).unwrap(), None, "{name} is meant for others");
        }
        let elsewhere =
            [("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m:1"), ("OTEL_TRACES_EXPORTER", "jaeger")];
        let options = read(None, &elsewhere).unwrap().unwrap();
        assert!(options.traces.is_none() && options.metrics.is_some());
        assert_eq!(read(None, &[named, ("OTEL_SDK_DISABLED", "True")]).unwrap(), None);
        let neither = [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none"), named];
        assert_eq!(read(None, &neither).unwrap(), None);
    }

    #[test]
    fn the_standards_variables_say_where_and_how() {
        let options = read(
            None,
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/base/?key=hunter5"),
                ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m:1/hunter6"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2, x-tenant = blue"),
                ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2500"),
                ("OTEL_METRIC_EXPORT_INTERVAL", "1000"),
                ("OTEL_SERVICE_NAME", "shop"),
                ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
            ],
        );
        let options = options.unwrap().unwrap();
        let (traces, metrics) = (options.traces.clone().unwrap(), options.metrics.clone().unwrap());
        assert_eq!(traces.url, "http://c:4318/base/v1/traces?key=hunter5");
        assert_eq!(metrics.url, "http://m:1/hunter6", "of its own it is taken as it stands");
        let names: Vec<_> =
            traces.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(names, [("authorization", "Bearer hunter2"), ("x-tenant", "blue")]);
        assert_eq!((traces.timeout.as_millis(), metrics.timeout.as_millis()), (2500, 10_000));
        assert_eq!((options.interval.as_millis(), options.queue, options.batch), (1000, 100, 100));
        assert_eq!(options.service_name.as_deref(), Some("shop"));
        let shown = format!("{options:?}");
        assert!(!shown.contains("hunter") && shown.contains("http://c:4318"), "{shown}");
        let given = read(Some("http://given:1"), &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1/x")]);
        let traces = given.unwrap().unwrap().traces.unwrap();
        assert_eq!(traces.url, "http://given:1/v1/traces", "what is given goes first");
        let described = [("OTEL_RESOURCE_ATTRIBUTES", "a=b, service.name=x")];
        assert_eq!(read(Some("http://g:1"), &described).unwrap().unwrap().service_name, None);
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_no_secret_repeated() {
        let named = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");
        for (name, text) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "hunter2"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=hunter2%zz"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=hunter2%é"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/hunter3"),
        ] {
            let error = read(None, &[named, (name, text)]).unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        for (name, text) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_METRICS_EXPORTER", "prometheus"),
        ] {
            let error = read(None, &[named, (name, text)]).unwrap_err();
            assert!(matches!(error, OtlpError::Unknown { .. }), "{error:?} may be meant for others");
        }
        let zero = OtlpOptions { queue: 0, ..OtlpOptions::to("http://c") };
        assert!(zero.validate().is_err());
        let never = OtlpOptions { interval: Duration::ZERO, ..OtlpOptions::to("http://c") };
        assert!(never.validate().is_err());
        assert!(OtlpOptions::to("http://c").validate().is_ok());
    }
}
