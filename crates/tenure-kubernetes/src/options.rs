//! How to reach the API of a cluster, and where its Leases live.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tenure_core::StoreError;
use url::Url;

use crate::error::described;
use crate::names::{PREFIX_MAX, is_label};

/// How much longer than a call a connection for calls may be silent before it counts as dead.
const CALL_SILENCE: Duration = Duration::from_secs(1);
/// How long a watch may be silent before its connection counts as dead. Watches end sooner by themselves.
const WATCH_SILENCE: Duration = Duration::from_secs(30);

/// How to reach the API of a cluster, and where its Leases live.
#[derive(Clone)]
#[non_exhaustive]
pub struct KubernetesOptions {
    /// The namespace of the Lease objects; `None` for that of the service account or of the context.
    pub namespace: Option<String>,
    /// What the names of the objects begin with, before a dot: one label, or nothing.
    pub prefix: String,
    /// The kubeconfig to read; `None` for the service account of the pod, else `KUBECONFIG` or `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// The context there; `None` for its current one. A context is never looked for in a pod's service account.
    pub context: Option<String>,
    /// The API's address, spoken to without credentials: `kubectl proxy`, or a server for tests.
    pub server: Option<String>,
    /// How long one call may take, with all its requests; the server is told as well. 5 s.
    pub timeout: Duration,
}

impl Default for KubernetesOptions {
    fn default() -> Self {
        Self {
            namespace: None,
            prefix: String::new(),
            kubeconfig: None,
            context: None,
            server: None,
            timeout: Duration::from_secs(5),
        }
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Refused { store: "kubernetes".into(), message: message.into() })
}

impl KubernetesOptions {
    /// Reads `kubernetes://NAMESPACE[/PREFIX]?context=…&kubeconfig=…&server=…`.
    ///
    /// Without a namespace it is the service account's or the context's. Options: `context` and `kubeconfig` choose a
    /// context and a file; `server` is an address that is spoken to without credentials.
    pub fn from_url(text: &str) -> Result<Self, StoreError> {
        let Ok(url) = text.parse::<Url>() else {
            return refuse(
                "the Kubernetes URL cannot be read; it looks like kubernetes://namespace, \
                 kubernetes://namespace/prefix or kubernetes://namespace?context=name",
            );
        };
        if url.scheme() != "kubernetes" {
            return refuse("the Kubernetes URL does not begin with kubernetes://");
        }
        if !url.username().is_empty() || url.password().is_some() || url.port().is_some() {
            return refuse(
                "the Kubernetes URL holds a user or a port; behind kubernetes:// stands a namespace, and the address and \
                 the credentials come from the pod's service account or from a kubeconfig",
            );
        }
        let namespace = url.host_str().unwrap_or_default();
        let mut options = Self {
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            prefix: url.path().trim_matches('/').to_owned(),
            ..Self::default()
        };
        for (key, value) in url.query_pairs() {
            let given = || (!value.is_empty()).then(|| value.clone().into_owned());
            match &*key {
                "context" => options.context = given(),
                "kubeconfig" => options.kubeconfig = given().map(PathBuf::from),
                "server" => options.server = given(),
                _ => {
                    return refuse(
                        "the Kubernetes URL holds an option that is not known; known are context, kubeconfig, server",
                    );
                }
            }
        }
        options.validate()?;
        Ok(options)
    }

    /// Checks every field, and every pair that must fit together.
    pub fn validate(&self) -> Result<(), StoreError> {
        if let Some(namespace) = &self.namespace
            && !is_label(namespace)
        {
            return refuse(format!(
                "the namespace of the Kubernetes URL is none: {PREFIX_MAX} lower-case letters, digits and `-` at most"
            ));
        }
        if !self.prefix.is_empty() && !is_label(&self.prefix) {
            return refuse(format!(
                "the prefix of the Kubernetes URL is none: {PREFIX_MAX} lower-case letters, digits and `-` at most, \
                 without a dot or a slash"
            ));
        }
        if self.timeout < Duration::from_millis(100) || self.timeout > Duration::from_secs(60) {
            return refuse(format!("timeout {:?} is not between 100ms and 60s", self.timeout));
        }
        let Some(server) = &self.server else { return Ok(()) };
        if self.context.is_some() || self.kubeconfig.is_some() {
            return refuse("server excludes context and kubeconfig: it is spoken to without credentials");
        }
        let Ok(server) = server.parse::<Url>() else {
            return refuse("server in the Kubernetes URL is no address; it looks like http://127.0.0.1:8001");
        };
        if !matches!(server.scheme(), "http" | "https") || !server.has_host() {
            return refuse("server in the Kubernetes URL begins with neither http:// nor https://");
        }
        if !server.username().is_empty() || server.password().is_some() {
            return refuse("server in the Kubernetes URL holds credentials; put them into a kubeconfig");
        }
        Ok(())
    }

    /// Finds out where the cluster is and who we are there.
    pub(crate) async fn config(&self) -> Result<Config, StoreError> {
        self.validate()?;
        if let Some(server) = &self.server {
            let Ok(address) = server.parse() else {
                return refuse("server in the Kubernetes URL is no address");
            };
            return Ok(Config::new(address));
        }
        let asked_for = self.kubeconfig.is_some() || self.context.is_some();
        let in_pod = if asked_for { None } else { Some(Config::incluster()) };
        if let Some(Ok(config)) = in_pod {
            return Ok(config);
        }
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let read = match &self.kubeconfig {
            Some(path) => match Kubeconfig::read_from(path) {
                Ok(file) => Config::from_custom_kubeconfig(file, &options).await,
                Err(error) => Err(error),
            },
            None => Config::from_kubeconfig(&options).await,
        };
        match (read, in_pod) {
            (Ok(config), _) => Ok(config),
            (Err(error), Some(Err(pod))) => refuse(format!(
                "there is neither a pod's service account ({}) nor a kubeconfig ({}); run in a pod, set KUBECONFIG, or \
                 add kubeconfig=… to the URL",
                described(&pod),
                described(&error)
            )),
            (Err(error), _) => refuse(format!("the kubeconfig cannot be used: {}", described(&error))),
        }
    }

    /// Two clients: for calls, whose connection is given up soon after a call was, and for watches.
    pub(crate) fn clients(&self, config: Config) -> Result<(Client, Client), StoreError> {
        // The client takes the process's default, and has none where several are compiled in.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = |silence: Duration| {
            let mut config = config.clone();
            config.connect_timeout = Some(self.timeout);
            config.write_timeout = Some(self.timeout);
            config.read_timeout = Some(silence);
            // Or else an idle connection would be given up in the middle of its next request.
            config.reset_reader_on_write = true;
            // A request that failed is for us to repeat, or not: its object may have changed since.
            config.default_retry = false;
            Client::try_from(config)
                .or_else(|error| refuse(format!("no client can be made: {}", described(&error))))
        };
        Ok((client(self.timeout + CALL_SILENCE)?, client(WATCH_SILENCE)?))
    }
}

/// Without the server's address, which may hold what it should not.
impl fmt::Debug for KubernetesOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubernetesOptions")
            .field("namespace", &self.namespace)
            .field("prefix", &self.prefix)
            .field("kubeconfig", &self.kubeconfig)
            .field("context", &self.context)
            .field("server", &self.server.as_ref().map(|_| ".."))
            .field("timeout", &self.timeout)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> KubernetesOptions {
        KubernetesOptions::from_url(url).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    #[test]
    fn the_url_is_read() {
        let plain = read("kubernetes://shop");
        assert_eq!((plain.namespace.as_deref(), plain.prefix.as_str()), (Some("shop"), ""));
        let full = read("kubernetes://shop/relay?context=kind-a&kubeconfig=/etc/kube%20config");
        assert_eq!((full.namespace.as_deref(), full.prefix.as_str()), (Some("shop"), "relay"));
        assert_eq!(full.context.as_deref(), Some("kind-a"));
        assert_eq!(full.kubeconfig, Some("/etc/kube config".into()));
        for own in ["kubernetes://", "kubernetes:", "kubernetes:///", "kubernetes://?context=a"] {
            assert_eq!(read(own).namespace, None, "{own}");
        }
        assert_eq!(read("kubernetes:///relay").prefix, "relay");
        let server = read("kubernetes://a?server=http://127.0.0.1:8001").server;
        assert_eq!(server.as_deref(), Some("http://127.0.0.1:8001"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_repeating_it() {
        let bad = [
            "kubernetes://Shop_c4nary",
            "kubernetes://c4nary.shop",
            "kubernetes://shop/a/c4nary",
            "kubernetes://shop/C4NARY",
            "kubernetes://u:c4nary@shop",
            "kubernetes://shop:8001",
            "kubernetes://shop?token=c4nary",
            "kubernetes://shop?server=c4nary",
            "kubernetes://shop?server=ftp://c4nary",
            "kubernetes://shop?server=http://u:c4nary@h",
            "kubernetes://shop?server=http://c4nary&context=a",
            "etcd://c4nary",
            "c4nary",
        ];
        for url in bad {
            let error = KubernetesOptions::from_url(url).expect_err(url);
            let said = format!("{error} {error:?}").to_lowercase();
            assert!(matches!(error, StoreError::Refused { .. }) && !said.contains("c4nary"), "{url}: {said}");
        }
        let good = read("kubernetes://shop?server=http://h/c4nary");
        assert!(!format!("{good:?}").contains("c4nary"));
    }

    #[test]
    fn a_timeout_has_its_limits() {
        let with = |timeout| KubernetesOptions { timeout, ..KubernetesOptions::default() }.validate();
        assert!(with(Duration::from_secs(5)).is_ok());
        assert!(with(Duration::ZERO).is_err());
        assert!(with(Duration::from_secs(61)).is_err());
    }
}
