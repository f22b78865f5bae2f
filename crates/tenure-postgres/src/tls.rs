//! Protection of connections, by rustls with its ring provider.
//!
//! `require` encrypts without looking at the certificate, as libpq does: it keeps listeners out, not impostors.
//! `verify-full` checks the certificate and the host's name.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tenure_core::StoreError;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::options::{PostgresOptions, TlsMode};

/// What the driver is to ask of the server.
pub(crate) fn ssl_mode(mode: TlsMode) -> SslMode {
    match mode {
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyFull => SslMode::Require,
    }
}

/// Makes the connector that goes with the options.
pub(crate) fn connector(options: &PostgresOptions) -> Result<MakeRustlsConnect, StoreError> {
    let refused = |message: String| StoreError::Refused { store: options.label(), message };
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(error.to_string()))?;
    let config = match options.tls {
        TlsMode::VerifyFull => {
            let roots = roots(options.root_certificate.as_deref()).map_err(refused)?;
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => {
            let anyone = Arc::new(Anyone { provider });
            builder.dangerous().with_custom_certificate_verifier(anyone).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// The certificates to trust: those of a file, or the system's.
fn roots(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        let found = rustls_native_certs::load_native_certs();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        return match added {
            0 => Err(
                "sslmode=verify-full, but this system has no trusted certificates; name some by sslrootcert"
                    .into(),
            ),
            _ => Ok(roots),
        };
    };
    let unreadable =
        |what: &dyn std::fmt::Display| format!("sslrootcert {} cannot be read: {what}", file.display());
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))? {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() {
        return Err(unreadable(&"it holds no certificate"));
    }
    Ok(roots)
}

/// Takes any certificate, but still checks that the server has its key.
#[derive(Debug)]
struct Anyone {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
