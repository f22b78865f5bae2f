//! Whom sinks trust: the system's certificates, and those of the options.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::SinkError;

/// What the system's own certificates are to this sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    /// There must be one, or one in the options.
    Needed,
    /// The receiver may ask for TLS, or not.
    #[cfg(feature = "nats")]
    IfAny,
    /// There will be no TLS.
    #[cfg(feature = "http")]
    Unused,
}

/// How to speak TLS; `option` is what errors call the certificates in `pems`.
pub(super) fn client(
    option: &'static str,
    pems: &[Vec<u8>],
    system: System,
) -> Result<ClientConfig, SinkError> {
    let refused = |message: String| SinkError::BadOption { option, message };
    let mut roots = RootCertStore::empty();
    for pem in pems {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let added = certificate.map_err(|error| error.to_string());
            added.and_then(|found| roots.add(found).map_err(|e| e.to_string())).map_err(refused)?;
        }
        if roots.len() == before {
            return Err(refused("one holds no certificate in PEM".into()));
        }
    }
    let looks = match system {
        System::Needed => true,
        #[cfg(feature = "nats")]
        System::IfAny => true,
        #[cfg(feature = "http")]
        System::Unused => false,
    };
    if looks {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if system == System::Needed && roots.is_empty() {
        return Err(refused("this system trusts none; give one".into()));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
